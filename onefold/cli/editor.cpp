#include "onefold/cli/editor.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "onefold/cli/exit_code.h"
#include "onefold/cli/terminal.h"
#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

[[noreturn]] void fail(const std::string& what, int reason) {
  complain(what + ": " + std::strerror(reason));
  throw Stopped{reason == EACCES || reason == EPERM ? ExitCode::permission : ExitCode::data};
}

std::string editor_command() {
  for (const char* name : {"VISUAL", "EDITOR"}) {
    const char* command = std::getenv(name);
    if (command != nullptr && *command != '\0') return command;
  }
  complain("there is no editor: neither VISUAL nor EDITOR is set",
           "give the bytes with --file FILE, or --file - for standard input");
  throw Stopped{ExitCode::usage};
}

void write_all(int file, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("cannot write " + printable(path), errno);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

/// As a shell would call it: the variable may hold options too, as in "code --wait".
int run_editor(const std::string& command, const std::string& path) {
  const std::string script = command + " \"$1\"";
  const pid_t child = ::fork();
  if (child < 0) fail("cannot start the editor", errno);
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", script.c_str(), "sh", path.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) fail("cannot wait for the editor", errno);
  }
  return status;
}

class File {
 public:
  explicit File(const std::string& path)
      : number_{path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)} {
    if (number_ < 0) fail("cannot read " + printable(path), errno);
  }
  ~File() {
    if (number_ != STDIN_FILENO) ::close(number_);
  }
  File(File&&) = delete;
  int number() const noexcept { return number_; }

 private:
  int number_;
};

}  // namespace

EditedText::EditedText(const std::string& text) {
  std::error_code error;
  path_ = (std::filesystem::temp_directory_path(error) / "onefold-XXXXXX").string();
  const int file = ::mkstemp(path_.data());  // For its owner alone.
  if (file < 0) fail("cannot write " + printable(path_), errno);
  try {
    write_all(file, text, path_);
  } catch (...) {
    ::close(file);
    ::unlink(path_.c_str());
    throw;
  }
  ::close(file);
}

EditedText::~EditedText() {
  if (!kept_) ::unlink(path_.c_str());
}

std::string EditedText::edit(std::size_t bytes_max) {
  const int status = run_editor(editor_command(), path_);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    complain("the editor has failed: nothing was changed");
    throw Stopped{ExitCode::problems};
  }
  return read_all(path_, bytes_max);
}

const std::string& EditedText::keep() {
  kept_ = true;
  return path_;
}

std::string read_all(const std::string& path, std::size_t bytes_max) {
  const File file{path};
  std::string text;
  std::array<char, 65536> piece{};
  for (;;) {
    const ssize_t count = ::read(file.number(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("cannot read " + printable(path), errno);
    if (count == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(count));
    if (text.size() > bytes_max) {
      complain(printable(path) + " is larger than " +
               counted(static_cast<std::int64_t>(bytes_max), "byte") +
               ", the largest event that its source may have");
      throw Stopped{ExitCode::data};
    }
  }
}

}  // namespace onefold::cli
