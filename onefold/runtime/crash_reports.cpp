#include "onefold/runtime/crash_reports.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "onefold/formats/text.h"
#include "onefold/runtime/process.h"

namespace onefold {
namespace {

constexpr std::size_t report_bytes_max = 4096;
/// Then nobody has wanted to know: its run is in another database, or had not begun.
constexpr std::chrono::days report_kept{7};

template <class Number>
std::optional<Number> number_of(std::string_view text, int base = 10) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

std::optional<Key> key_of(std::string_view text) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const auto scope = number_of<std::int32_t>(text.substr(0, blank));
  const std::string_view digits = text.substr(blank + 1);
  Key key;
  if (!scope || digits.size() != 2 * key.bytes.size()) return std::nullopt;
  key.scope = *scope;
  for (std::size_t i = 0; i < key.bytes.size(); ++i) {
    const auto byte = number_of<std::uint8_t>(digits.substr(2 * i, 2), 16);
    if (!byte) return std::nullopt;
    key.bytes.at(i) = *byte;
  }
  return key;
}

/// Takes lines off a text, each with the word that it has to begin with.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_{text} {}

  std::optional<std::string_view> next(std::string_view word) {
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    if (!line.starts_with(word)) return std::nullopt;
    line.remove_prefix(word.size());
    return line;
  }
  template <class Number>
  std::optional<Number> next_number(std::string_view word) {
    const auto text = next(word);
    return text ? number_of<Number>(*text) : std::nullopt;
  }
  bool at_end() const noexcept { return rest_.empty(); }

 private:
  std::string_view rest_;
};

/// "onefold-crash-4711-99"; absent for any other name.
std::optional<std::pair<std::int64_t, std::int64_t>> process_named_by(std::string_view file) {
  if (!file.starts_with(crash_file_prefix)) return std::nullopt;
  file.remove_prefix(crash_file_prefix.size());
  const std::size_t hyphen = file.find('-');
  if (hyphen == std::string_view::npos) return std::nullopt;
  const auto number = number_of<std::int64_t>(file.substr(0, hyphen));
  const auto started = number_of<std::int64_t>(file.substr(hyphen + 1));
  if (!number || !started) return std::nullopt;
  return std::pair{*number, *started};
}

std::string name_of(const std::pair<std::int64_t, std::int64_t>& process) {
  return std::string{crash_file_prefix} + std::to_string(process.first) + '-' +
         std::to_string(process.second);
}

class OpenFile {
 public:
  /// What is no regular file is not waited for, and no link is followed.
  explicit OpenFile(const std::string& path)
      : descriptor_{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)} {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  bool is_regular() const {
    struct stat status{};
    return descriptor_ >= 0 && ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  }
  bool is_held_by_another() const {
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return ::fcntl(descriptor_, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
  }
  /// One byte more than a report may have tells that it is none.
  std::string text() const {
    std::array<char, report_bytes_max + 1> bytes{};
    const ssize_t size = ::pread(descriptor_, bytes.data(), bytes.size(), 0);
    return {bytes.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
  }

 private:
  int descriptor_;
};

}  // namespace

std::optional<CrashReport> parse_crash_report(std::string_view text) {
  if (text.size() > report_bytes_max) return std::nullopt;
  Lines lines{text};
  const auto first = lines.next("onefold crash 1");
  const auto how = lines.next("how ");
  const auto sender = lines.next_number<std::int64_t>("sender ");
  const auto time = lines.next_number<std::int64_t>("time ");
  const auto run = lines.next_number<RunId>("run ");
  const auto consumer = lines.next("consumer ");
  const auto handler = lines.next("handler ");
  const auto key = lines.next("key ");
  const auto end = lines.next("end");
  const bool whole = first && first->empty() && how && sender && time && run && consumer &&
                     handler && key && end && end->empty() && lines.at_end();
  if (!whole) return std::nullopt;
  CrashReport report{.how = std::string{*how},
                     .sender = *sender,
                     .at = Timestamp{std::chrono::seconds{*time}},
                     .run = *run,
                     .consumer = std::string{*consumer},
                     .handler = std::string{*handler}};
  if (*key == "none") return report;
  report.key = key_of(*key);
  return report.key ? std::optional{report} : std::nullopt;
}

std::string as_reported(std::string_view name) {
  std::string text{name.substr(0, std::min(name.find('\0'), reported_name_bytes_max))};
  std::ranges::transform(text, text.begin(), reported);
  return text;
}

std::string words_of(const CrashReport& report) {
  std::string words = report.how;
  if (report.run != 0) words += " in handler '" + report.handler + "'";
  if (report.sender != 0) words += ", sent by process " + std::to_string(report.sender);
  return words + ", last at " + format_rfc3339(report.at);
}

CrashReports::CrashReports(const std::string& folder, const Notify& notify) : folder_{folder} {
  const Process self = this_process();
  std::error_code error;
  for (std::filesystem::directory_iterator files{folder, error}, end; !error && files != end;
       files.increment(error)) {
    const std::string file = files->path().filename().string();
    const auto name = process_named_by(file);
    // To close one's own file would give up the lock on it.
    if (!name || *name == Name{self.number, self.started}) continue;
    look_at(files->path().string(), *name, notify);
  }
}

void CrashReports::look_at(const std::string& file, const Name& name, const Notify& notify) {
  const OpenFile open{file};
  if (!open.is_regular() || open.is_held_by_another()) return;
  const std::string text = open.text();
  std::optional<CrashReport>& report = dead_[name];
  if (text.empty()) {
    ::unlink(file.c_str());
    return;
  }
  report = parse_crash_report(text);
  if (report) {
    if (report->at + report_kept < std::chrono::system_clock::now()) ::unlink(file.c_str());
    return;
  }
  const std::string aside = file + ".unreadable";
  // Of several that start at once, one can rename it, and says so.
  if (::rename(file.c_str(), aside.c_str()) == 0 && notify) {
    notify({Severity::warning, "the crash file " + file +
                                   " is torn, or not one of ours; it is not regarded, and is now " +
                                   aside});
  }
}

bool CrashReports::is_dead(std::int64_t process, std::int64_t started) const {
  return dead_.contains({process, started});
}

const CrashReport* CrashReports::of(std::int64_t process, std::int64_t started) const {
  const auto found = dead_.find({process, started});
  return found != dead_.end() && found->second ? &*found->second : nullptr;
}

void CrashReports::forget(std::int64_t process, std::int64_t started) const noexcept {
  if (of(process, started) == nullptr) return;
  ::unlink((folder_ + '/' + name_of({process, started})).c_str());
}

}  // namespace onefold
