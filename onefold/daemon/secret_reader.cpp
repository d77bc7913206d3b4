// A secret is never in the command line, and need not be in the configuration: it can come from a
// file or a variable. What is wrong with it is told without showing it.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <variant>

#include "onefold/daemon/toml_reader.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

constexpr std::size_t secret_bytes_max = 1UL << 16U;

struct Defect {
  std::string text;
  std::string hint;
};

/// An open file, closed at the end.
class OpenFile {
 public:
  // Without blocking: a pipe that nobody writes to must not stop the start.
  explicit OpenFile(const std::string& path)
      : descriptor_{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)} {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int descriptor() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

/// Up to one byte more than allowed; absent if it cannot be read, with the cause in `errno`.
std::optional<std::string> contents(int descriptor) {
  std::string text;
  std::array<char, 4096> part{};
  while (text.size() <= secret_bytes_max) {
    const ssize_t count = ::read(descriptor, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  return text;
}

std::variant<std::string, Defect> read_secret_file(const std::string& path,
                                                   const std::string& name) {
  if (path.find('\0') != std::string::npos) {
    return Defect{name + " cannot be read: a NUL character stands in its name", "correct the name"};
  }
  const OpenFile file{path};
  struct stat status{};
  if (file.descriptor() < 0 || ::fstat(file.descriptor(), &status) != 0) {
    return Defect{name + " cannot be read: " + std::strerror(errno),
                  "create it with the secret in it, readable for the user that runs onefold only"};
  }
  if (!S_ISREG(status.st_mode)) {
    return Defect{name + " is not an ordinary file", "name a file that holds the secret alone"};
  }
  if ((status.st_mode & (S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH)) != 0) {
    return Defect{"others may read or write " + name + ", and it holds a secret",
                  may_be_url(path) ? "run chmod 600 on it" : "run: chmod 600 " + printable(path)};
  }
  auto text = contents(file.descriptor());
  if (!text) return Defect{name + " cannot be read: " + std::strerror(errno), {}};
  if (text->size() > secret_bytes_max) {
    return Defect{name + " is larger than 64 KiB", "it must hold the secret alone"};
  }
  if (text->ends_with('\n')) text->pop_back();
  if (text->ends_with('\r')) text->pop_back();
  return *std::move(text);
}

/// "the file shop.url"; without the name if that may be the secret itself, in the wrong place.
std::string told(const std::string& noun, const std::string& written, const std::string& shown,
                 const std::string& key) {
  if (may_be_url(written)) return noun + " that \"" + key + "\" names";
  return noun + " " + printable(shown);
}

std::string defect_of(const std::string& secret) {
  if (secret.empty()) return " is empty";
  if (secret.find('\0') != std::string::npos) return " holds a NUL character";
  if (secret.find('\n') != std::string::npos) return " has more than one line";
  return {};
}

}  // namespace

std::string TableReader::secret_key(const std::string& key) const {
  for (const char* ending : {"", "_file", "_env"}) {
    if (find(key + ending) != nullptr) return key + ending;
  }
  return key;
}

std::optional<Secret> TableReader::secret(const std::string& key) const {
  const std::string file_key = key + "_file";
  const std::string variable_key = key + "_env";
  const std::string used = secret_key(key);
  if (find(used) == nullptr) {
    problem_here(label_ + " needs the key \"" + key + "\"",
                 "for example: " + schema(key).example + "; or " + file_key + " or " +
                     variable_key + ", if it holds a password");
    return std::nullopt;
  }
  for (const std::string& other : {file_key, variable_key}) {
    if (other == used || find(other) == nullptr) continue;
    problem(other, "\"" + used + "\" and \"" + other + "\" are both given",
            "keep the one that is right");
    return std::nullopt;
  }
  const auto value = text(used);
  if (!value) return std::nullopt;
  if (used == key) return Secret{*value};
  if (!reading_.options().environment) return std::nullopt;
  std::string found;
  std::string what;
  if (used == variable_key) {
    const auto variable = reading_.options().environment->find(*value);
    what = told("the environment variable", *value, *value, used);
    if (variable == reading_.options().environment->end()) {
      problem(used, what + " is not set",
              may_be_url(*value)
                  ? "\"" + used + "\" takes the name of a variable; write the value itself to \"" +
                        key + "\""
                  : "set it to the value of \"" + key + "\"");
      return std::nullopt;
    }
    found = variable->second;
  } else {
    const std::string path = relative_to(folder(used), *value);
    what = told("the file", *value, path, used);
    auto read = read_secret_file(path, what);
    if (const auto* defect = std::get_if<Defect>(&read)) {
      problem(used, defect->text, defect->hint);
      return std::nullopt;
    }
    found = std::get<std::string>(std::move(read));
  }
  if (const std::string defect = defect_of(found); !defect.empty()) {
    problem(used, what + defect, "it must hold the value of \"" + key + "\" alone");
    return std::nullopt;
  }
  return Secret{std::move(found)};
}

}  // namespace onefold
