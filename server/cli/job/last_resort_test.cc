#include "server/cli/job/last_resort.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace castscope::cli {
namespace {

using ::testing::ExitedWithCode;
using ::testing::KilledBySignal;

// Runs in a process of its own, which starts a job and then breaks.
template <typename Job, typename Fault>
void break_beside(Job job, Fault fault) {
  const pid_t child = fork();
  if (child == 0) job();
  guard_job(child);
  std::thread(fault).join();
}

TEST(LastResortDeathTest, AnAbortOfOursEndsAsTheJob) {
  EXPECT_EXIT(break_beside([] { _exit(6); }, [] { abort(); }), ExitedWithCode(6), "castscope itself has failed");
}
TEST(LastResortDeathTest, AFaultOfOursEndsAsTheJob) {
  EXPECT_EXIT(break_beside([] { kill(getpid(), SIGKILL); }, [] { raise(SIGSEGV); }), KilledBySignal(SIGKILL), "");
}
TEST(LastResortDeathTest, AfterTheJobItsEndCounts) {
  EXPECT_EXIT(
      {
        guard_job(-1);
        guard_end({5, 0});
        abort();
      },
      ExitedWithCode(5), "castscope itself has failed");
}

// An exception that nobody catches is one, too.
TEST(LastResortDeathTest, BeforeTheJobHasStartedWeBecomeIt) {
  EXPECT_EXIT(
      {
        guard_start({"sh", "-c", "trap 'exit 7' ABRT; kill -ABRT $$; exit 1"}, 125);
        std::thread([] { throw std::runtime_error("a surprise"); }).join();
      },
      ExitedWithCode(7), "castscope itself has failed; the job runs unobserved");
}
TEST(LastResortDeathTest, AChildOfOursThatBreaksStartsNoJob) {
  EXPECT_EXIT(
      {
        guard_start({"sh", "-c", "exit 7"}, 125);
        const pid_t child = fork();
        if (child == 0) abort();
        int status = 0;
        waitpid(child, &status, 0);
        _exit(WEXITSTATUS(status));
      },
      ExitedWithCode(125), "");
}
TEST(LastResortDeathTest, AJobThatMustNotRunWithoutUsIsNotStarted) {
  EXPECT_EXIT(
      {
        guard_start({}, 125);
        raise(SIGSEGV);
      },
      ExitedWithCode(125), "the job was not started");
}

TEST(WhatRecordingLacks, NothingHere) { EXPECT_EQ(what_recording_lacks(), ""); }

}  // namespace
}  // namespace castscope::cli
