#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "onefold/brokers/file/file.h"
#include "tests/conformance/source_contract.h"

namespace onefold::contract {
namespace {

file::Options options(std::string path, bool follow) {
  return {.name = "orders",
          .path = std::move(path),
          .format = file::Format::json,
          .identity = {.id = "/id", .source = "literal:shop", .type = "/type"},
          .follow = follow};
}

std::string joined(const std::vector<std::string>& texts, const std::string& separator) {
  std::string result;
  for (const std::string& text : texts) result += (result.empty() ? "" : separator) + text;
  return result;
}

enum class FileKind { lines, array, followed };

template <FileKind Kind>
class FileRig final : public SourceRig {
 public:
  FileRig() {
    static std::atomic<int> count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("onefold-source-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
    publish({});
  }
  ~FileRig() override {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  void publish(const std::vector<std::string>& texts) override {
    std::ofstream out{path_, std::ios::binary};
    if (Kind == FileKind::array) {
      out << "[" << joined(texts, ",\n") << "]\n";
    } else {
      for (const std::string& text : texts) out << text << '\n';
    }
  }
  SourceFactory factory() override {
    return file::source(options(path_.string(), Kind == FileKind::followed));
  }

 private:
  std::filesystem::path path_;
};

/// A pipe in the place of the process's own standard input.
class StandardInputRig final : public SourceRig {
 public:
  StandardInputRig() : saved_{::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)} {
    int ends[2] = {-1, -1};
    if (::pipe(ends) != 0) throw std::runtime_error{"no pipe"};
    ::dup2(ends[0], STDIN_FILENO);
    ::close(ends[0]);
    writer_ = ends[1];
  }
  ~StandardInputRig() override {
    close_writer();
    if (saved_ >= 0) {
      ::dup2(saved_, STDIN_FILENO);
      ::close(saved_);
    } else {
      ::close(STDIN_FILENO);
    }
  }
  void publish(const std::vector<std::string>& texts) override {
    const std::string text = joined(texts, "\n") + "\n";
    if (::write(writer_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      throw std::runtime_error{"the pipe does not take the whole text at once"};
    }
    close_writer();
  }
  SourceFactory factory() override { return file::source(options("-", false)); }

 private:
  void close_writer() {
    if (writer_ >= 0) ::close(writer_);
    writer_ = -1;
  }
  int saved_ = -1;
  int writer_ = -1;
};

template <typename Rig>
std::unique_ptr<SourceRig> make() {
  return std::make_unique<Rig>();
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const SourceCase& source) {
  return out << source.name;
}

const std::vector<SourceCase>& sources() {
  constexpr SourceTraits log{.kind = SourceClass::owned_log, .ordered = true};
  constexpr SourceTraits queue{.kind = SourceClass::queue, .ordered = true};
  static const std::vector<SourceCase> all{
      {"file_lines", log, make<FileRig<FileKind::lines>>},
      {"file_array", log, make<FileRig<FileKind::array>>},
      {"file_followed", log, make<FileRig<FileKind::followed>>},
      {"standard_input", queue, make<StandardInputRig>},
  };
  return all;
}

std::vector<SourceCase> owned_logs() {
  std::vector<SourceCase> result;
  std::ranges::copy_if(sources(), std::back_inserter(result), [](const SourceCase& source) {
    return source.traits.kind == SourceClass::owned_log;
  });
  return result;
}

}  // namespace onefold::contract
