#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "onefold/event.h"
#include "onefold/notice.h"
#include "onefold/runs.h"

namespace onefold {

/// What the calling thread has in hand while a handler runs: named by the crash file if the process
/// dies meanwhile. Costs a few stores; what it is given must live as long as it does.
class InHand {
 public:
  /// `key` is null where the handler has several events, and it could be any of them.
  InHand(RunId run, const std::string& consumer, const std::string& handler,
         const Key* key) noexcept;
  ~InHand();
  InHand(const InHand&) = delete;
  InHand& operator=(const InHand&) = delete;

  RunId run;
  const char* consumer;
  const char* handler;
  const Key* key;

 private:
  const InHand* outer_;
};

/// A stack for the handlers of signals in the calling thread, so that they also work when its own
/// stack has overflown. Left alone if it has one. Ends in the thread in which it began.
class SignalStack {
 public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  std::unique_ptr<std::byte[]> memory_;
};

/// A file of this process that says how it has died, if it does: open from the start, locked while
/// the process lives, written by handlers of SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT and when a
/// handler of events calls `exit`. After that the signal has the effect that it had without us. Its
/// form is described in crash_reports.h.
///
/// There is one in a process, however many of these objects ask for it; the last one removes it.
/// Thread-safe.
class CrashFile {
 public:
  /// The folder is made if only its last part is missing. Throws `bad_configuration` if it cannot
  /// be used, or if the process has its crash file in another one. Where only the file cannot be
  /// made (a full disk), it tells `notify`, and there is none.
  CrashFile(const std::string& folder, const Notify& notify);
  ~CrashFile();
  CrashFile(const CrashFile&) = delete;
  CrashFile& operator=(const CrashFile&) = delete;
};

}  // namespace onefold
