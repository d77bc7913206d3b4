#include "onefold/runtime/process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace onefold {
namespace {

TEST(ProcessTest, WhoAsksIsThere) {
  const Process self = this_process();
  EXPECT_EQ(self.number, ::getpid());
  EXPECT_GT(self.started, 0);
  EXPECT_FALSE(self.host.empty());
  EXPECT_EQ(self, this_process());
  EXPECT_TRUE(lives(self.number, self.started));
}

TEST(ProcessTest, ANumberThatIsUsedAgainIsAnotherProcess) {
  const Process self = this_process();
  EXPECT_FALSE(lives(self.number, self.started + 1));
  EXPECT_TRUE(lives(self.number, 0)) << "its start is not known";
}

TEST(ProcessTest, AForkedChildIsAnotherProcess) {
  const Process parent = this_process();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(this_process().number == ::getpid() && this_process() != parent ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(ProcessTest, WhatWaitsToBeReapedIsGone) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  EXPECT_TRUE(lives(child, 0));
  ::kill(child, SIGSTOP);
  siginfo_t information{};
  ::waitid(P_PID, static_cast<id_t>(child), &information, WSTOPPED | WNOWAIT);
  EXPECT_TRUE(lives(child, 0)) << "it has stopped, and may go on";
  ::kill(child, SIGKILL);
  ::waitid(P_PID, static_cast<id_t>(child), &information, WEXITED | WNOWAIT);
  EXPECT_FALSE(lives(child, 0)) << "dead, and not reaped";
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_FALSE(lives(child, 0));
}

}  // namespace
}  // namespace onefold
