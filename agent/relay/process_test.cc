#include "agent/relay/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/lanes/segment_writer.h"

namespace castscope::relay {
namespace {

TEST(ProcessTest, WeAreAlive) {
  EXPECT_TRUE(is_alive(getpid(), lanes::own_start_ticks()));
  EXPECT_TRUE(is_alive(getpid(), 0));
}

TEST(ProcessTest, AnotherProcessOfOurPidIsGone) { EXPECT_FALSE(is_alive(getpid(), lanes::own_start_ticks() + 1)); }

TEST(ProcessTest, AZombieIsGone) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[1]);
    char byte = 0;
    (void)!read(ends[0], &byte, 1);
    _exit(0);
  }
  EXPECT_TRUE(is_alive(child, 0));
  close(ends[1]);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);  // ended, and not yet reaped
  EXPECT_FALSE(is_alive(child, 0));
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(is_alive(child, 0));
  close(ends[0]);
}

}  // namespace
}  // namespace castscope::relay
