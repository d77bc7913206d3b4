#include "onefold/runtime/crash_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

#include "onefold/error.h"
#include "onefold/runtime/crash_reports.h"
#include "onefold/runtime/process.h"

// Between here and the end of the first part everything may run in a handler of a signal, at any
// point of a program whose memory is in any state: no memory is allocated, no lock is taken, and of
// the system only what POSIX calls async-signal-safe is used.

namespace onefold {
namespace {

struct Signal {
  int number;
  std::string_view name;
};
constexpr std::array signals{Signal{SIGSEGV, "SIGSEGV"}, Signal{SIGBUS, "SIGBUS"},
                             Signal{SIGFPE, "SIGFPE"}, Signal{SIGILL, "SIGILL"},
                             Signal{SIGABRT, "SIGABRT"}};

/// In a shared library the usual way to such a variable may allocate memory.
__attribute__((tls_model("initial-exec"))) constinit thread_local const InHand* in_hand = nullptr;

constexpr int no_file = -1;
std::atomic<int> file_of_process{no_file};
std::atomic<pid_t> owner_of_file{0};  ///< A child that was forked is somebody else.
std::atomic<bool> is_taken{false};    ///< Somebody writes the report, or has.
std::atomic<bool> is_written{false};
std::atomic<bool> is_exiting{false};
std::array<struct sigaction, signals.size()> previous_actions;

/// A report on the stack, put together without the library.
class Report {
 public:
  Report& operator<<(std::string_view text) noexcept {
    for (const char c : text) {
      if (size_ < text_.size()) text_[size_++] = c;
    }
    return *this;
  }
  Report& operator<<(std::int64_t number) noexcept {
    std::array<char, 20> digits{};
    std::size_t count = 0;
    if (number < 0) *this << "-";
    std::uint64_t rest =
        number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
    do {
      digits[count++] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest > 0);
    while (count > 0) *this << std::string_view{&digits[--count], 1};
    return *this;
  }
  Report& operator<<(const Key& key) noexcept {
    constexpr std::string_view digits = "0123456789abcdef";
    *this << std::int64_t{key.scope} << " ";
    for (const std::uint8_t byte : key.bytes) {
      *this << digits.substr(byte >> 4U, 1) << digits.substr(byte & 15U, 1);
    }
    return *this;
  }
  /// A name that others have chosen: on one line, and not too long.
  Report& name(const char* text) noexcept {
    for (std::size_t i = 0; i < reported_name_bytes_max && text[i] != '\0'; ++i) {
      const char c = reported(text[i]);
      *this << std::string_view{&c, 1};
    }
    return *this;
  }
  void write_to(int file) const noexcept {
    std::size_t written = 0;
    while (written < size_) {
      const ssize_t count = ::write(file, &text_[written], size_ - written);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return;
      written += static_cast<std::size_t>(count);
    }
  }

 private:
  std::array<char, 2048> text_;
  std::size_t size_ = 0;
};

/// `signal` 0: `exit` was called.
void leave_report(int signal, pid_t sender) noexcept {
  const int file = file_of_process;
  if (file == no_file || owner_of_file != ::getpid() || is_taken.exchange(true)) return;
  Report report;
  report << "onefold crash 1\nhow ";
  if (signal == 0) {
    report << "exit called";
  } else {
    report << "signal " << std::int64_t{signal} << " (";
    for (const Signal& known : signals) {
      if (known.number == signal) report << known.name;
    }
    report << ")";
  }
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  report << "\nsender " << std::int64_t{sender} << "\ntime " << std::int64_t{now.tv_sec};
  // While the process exits, what other threads meet is nobody's fault any more.
  const InHand* const hand = signal != 0 && is_exiting ? nullptr : in_hand;
  report << "\nrun " << (hand != nullptr ? hand->run : 0) << "\nconsumer ";
  if (hand != nullptr) report.name(hand->consumer);
  report << "\nhandler ";
  if (hand != nullptr) report.name(hand->handler);
  report << "\nkey ";
  hand != nullptr && hand->key != nullptr ? report << *hand->key : report << "none";
  report << "\nend\n";
  report.write_to(file);
  is_written = true;
}

/// Another thread may be at it. Whoever goes on ends the process.
void wait_for_the_report() noexcept {
  constexpr int pauses_max = 200;
  for (int i = 0; i < pauses_max && is_taken && !is_written; ++i) ::poll(nullptr, 0, 1);
}

/// The fault comes again when this returns, and has the effect that it had without us: so that what
/// is found in a core is the place of the fault, and nothing of ours.
extern "C" void on_signal(int number, siginfo_t* information, void* /*context*/) {
  const int error = errno;
  // Of a number below 1 it was sent; `abort` sends it to its own process.
  const bool was_sent = information->si_code <= 0;
  const pid_t sender = was_sent && information->si_pid != ::getpid() ? information->si_pid : 0;
  leave_report(number, sender);
  wait_for_the_report();
  for (std::size_t i = 0; i < signals.size(); ++i) {
    if (signals[i].number == number) ::sigaction(number, &previous_actions[i], nullptr);
  }
  if (was_sent) ::raise(number);
  errno = error;
}

/// Called in the thread that has called `exit`.
extern "C" void on_exit_called() {
  is_exiting = true;
  if (in_hand != nullptr) leave_report(0, 0);
}

// Here ends what may run in a handler of a signal.

void install_handlers() {
  static const bool hooked =
      std::atexit(on_exit_called) == 0 && std::at_quick_exit(on_exit_called) == 0;
  static_cast<void>(hooked);  // There is room for 32, or none is needed.
  for (std::size_t i = 0; i < signals.size(); ++i) {
    struct sigaction action{};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigfillset(&action.sa_mask);
    ::sigaction(signals[i].number, &action, &previous_actions[i]);
  }
}

/// Whoever has put a handler of his own in place meanwhile keeps it.
void remove_handlers() {
  for (std::size_t i = 0; i < signals.size(); ++i) {
    struct sigaction current{};
    ::sigaction(signals[i].number, nullptr, &current);
    const bool ours = (current.sa_flags & SA_SIGINFO) != 0 && current.sa_sigaction == on_signal;
    if (ours) ::sigaction(signals[i].number, &previous_actions[i], nullptr);
  }
}

/// What a person has to change is told from what passes.
[[noreturn]] void refuse(const std::string& folder, int error) {
  throw Error{ErrorKind::bad_configuration,
              "the state folder " + folder + " cannot be used (" +
                  std::generic_category().message(error) +
                  "): make it, let this user write to it, or name another one"};
}

bool is_for_a_person(int error) {
  return error == EACCES || error == EPERM || error == ENOENT || error == ENOTDIR ||
         error == EROFS || error == ENAMETOOLONG || error == ELOOP;
}

bool lock(int descriptor) {
  // Unlike flock's, this lock is not inherited by children that handlers fork.
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return ::fcntl(descriptor, F_SETLK, &whole) == 0;
}

/// Not where a standard stream should be: where those are closed, what is written to standard error
/// would land in the report. Before it is locked, since closing any descriptor ends a lock.
int above_the_standard_streams(int descriptor) {
  if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
  const int higher = ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return higher;
}

/// Locked before it has its name, so that nobody takes it for that of a dead process.
int create_locked(const std::string& path) {
  const std::string unnamed = path + ".new";
  ::unlink(unnamed.c_str());
  const int descriptor = above_the_standard_streams(
      ::open(unnamed.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (descriptor < 0) return no_file;
  if (lock(descriptor) && ::rename(unnamed.c_str(), path.c_str()) == 0) return descriptor;
  const int error = errno;
  ::unlink(unnamed.c_str());
  ::close(descriptor);
  errno = error;
  return no_file;
}

/// The file of the process, and who needs it.
struct InUse {
  std::mutex mutex;
  int users = 0;
  std::string folder;
  std::string path;
};
InUse& in_use() {
  static InUse& file = *new InUse;  // Never destroyed: a runner may outlive what is static here.
  return file;
}

/// What stands in the way of it is thrown, if a person can change it, and told otherwise.
void open_file(InUse& file, const Notify& notify) {
  if (::mkdir(file.folder.c_str(), 0750) != 0 && errno != EEXIST) refuse(file.folder, errno);
  const Process self = this_process();
  file.path = file.folder + '/' + std::string{crash_file_prefix} + std::to_string(self.number) +
              '-' + std::to_string(self.started);
  const int descriptor = create_locked(file.path);
  if (descriptor != no_file) {
    is_taken = false;
    is_written = false;
    owner_of_file = ::getpid();
    file_of_process = descriptor;
    install_handlers();
    return;
  }
  const int error = errno;
  if (is_for_a_person(error)) refuse(file.folder, error);
  if (!notify) return;
  notify({Severity::warning, "the crash file " + file.path + " cannot be made (" +
                                 std::generic_category().message(error) +
                                 "); an event that kills the process is found without it, after a "
                                 "few deaths more"});
}

void close_file(const InUse& file) {
  const int descriptor = file_of_process.exchange(no_file);
  if (descriptor == no_file) return;
  remove_handlers();
  // What `exit` destroys in a handler of events has still something to say.
  const bool has_died = is_exiting && is_written;
  // A child that was forked has the parent's objects, and not its file.
  if (!has_died && owner_of_file == ::getpid()) ::unlink(file.path.c_str());
  ::close(descriptor);
}

}  // namespace

InHand::InHand(RunId the_run, const std::string& the_consumer, const std::string& the_handler,
               const Key* the_key) noexcept
    : run{the_run},
      consumer{the_consumer.c_str()},
      handler{the_handler.c_str()},
      key{the_key},
      outer_{in_hand} {
  std::atomic_signal_fence(std::memory_order_release);
  in_hand = this;
}

InHand::~InHand() {
  in_hand = outer_;
  std::atomic_signal_fence(std::memory_order_release);
}

SignalStack::SignalStack() {
  constexpr std::size_t bytes = std::size_t{64} * 1024;
  stack_t current{};
  if (::sigaltstack(nullptr, &current) != 0 || (current.ss_flags & SS_DISABLE) == 0) return;
  memory_ = std::make_unique<std::byte[]>(bytes);
  const stack_t ours{.ss_sp = memory_.get(), .ss_flags = 0, .ss_size = bytes};
  if (::sigaltstack(&ours, nullptr) != 0) memory_.reset();
}

SignalStack::~SignalStack() {
  if (!memory_) return;
  stack_t current{};
  const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
  if (::sigaltstack(nullptr, &current) == 0 && current.ss_sp == memory_.get()) {
    ::sigaltstack(&none, nullptr);
  }
}

CrashFile::CrashFile(const std::string& folder, const Notify& notify) {
  InUse& file = in_use();
  const std::scoped_lock guard{file.mutex};
  if (file.users > 0 && file.folder != folder) {
    throw Error{ErrorKind::bad_configuration, "the process has its crash file in " + file.folder +
                                                  ", and cannot have one in " + folder +
                                                  " too: give all its runners one state folder"};
  }
  if (file.users == 0) {
    file.folder = folder;
    open_file(file, notify);
  }
  ++file.users;
}

CrashFile::~CrashFile() {
  InUse& file = in_use();
  const std::scoped_lock guard{file.mutex};
  if (--file.users == 0) close_file(file);
}

}  // namespace onefold
