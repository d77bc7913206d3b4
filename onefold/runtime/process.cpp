#include "onefold/runtime/process.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

namespace onefold {
namespace {

struct Statistics {
  char state = ' ';
  std::int64_t started = 0;
};

/// Of /proc/NUMBER/stat. The second field is the program's name, which may hold anything, so that
/// the fields are counted from its closing bracket.
std::optional<Statistics> statistics_of(const std::string& process) {
  constexpr int fields_before_start = 18;  // Between the state, the 3rd, and the start, the 22nd.
  std::ifstream file{"/proc/" + process + "/stat"};
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const std::size_t bracket = line.rfind(')');
  if (bracket == std::string::npos) return std::nullopt;
  std::istringstream fields{line.substr(bracket + 1)};
  Statistics found;
  fields >> found.state;
  std::string field;
  for (int i = 0; i < fields_before_start; ++i) fields >> field;
  fields >> found.started;
  return fields ? std::optional{found} : std::nullopt;
}

std::string first_word_of(const std::string& path) {
  std::ifstream file{path};
  std::string word;
  file >> word;
  return word;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

/// Two containers of one machine may have the same name, and each its own process 7.
std::string process_namespace() {
  std::array<char, 64> target{};
  const ssize_t size = ::readlink("/proc/self/ns/pid", target.data(), target.size());
  return {target.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

}  // namespace

Process this_process() {
  const auto found = statistics_of("self");
  return {.host = host_name() + ' ' + first_word_of("/proc/sys/kernel/random/boot_id") + ' ' +
                  process_namespace(),
          .number = ::getpid(),
          .started = found ? found->started : 0};
}

bool lives(std::int64_t number, std::int64_t started) {
  // Asked first, since the files of other users' processes may be hidden.
  if (::kill(static_cast<pid_t>(number), 0) != 0 && errno == ESRCH) return false;
  const auto found = statistics_of(std::to_string(number));
  if (!found) return true;
  constexpr std::string_view over{"ZXx"};  // Zombies, and what is just going.
  return over.find(found->state) == std::string_view::npos &&
         (started == 0 || found->started == started);
}

}  // namespace onefold
