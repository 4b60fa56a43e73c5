#include "server/relay/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

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
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);  // ended, but not yet reaped
  EXPECT_FALSE(is_alive(child, 0));
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(is_alive(child, 0));
  close(ends[0]);
}

// In a run directory that a container wrote, numbers of processes may be those of the kernel's threads here.
TEST(ProcessTest, AThreadOfTheKernelHasMappedNothing) {
  constexpr pid_t kKthreadd = 2;
  std::ifstream comm("/proc/2/comm");
  std::string name;
  if (!std::getline(comm, name) || name != "kthreadd") GTEST_SKIP() << "no thread of the kernel is seen from here";
  EXPECT_FALSE(has_mapped(kKthreadd, "/castscope_agent-"));
}

// A process may disappear after its file in /proc was opened: the read fails. With an ignored SIGCHLD nobody reaps it
// later.
TEST(ProcessTest, AProcessMayEndWhileItIsLookedAt) {
  auto* const before = signal(SIGCHLD, SIG_IGN);
  for (int i = 0; i < 200; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    while (is_alive(child, 0)) {
    }
  }
  signal(SIGCHLD, before);
}

// A child that ends on request.
class Child {
 public:
  template <typename End>
  explicit Child(End end) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[1]);
      char byte = 0;
      (void)!read(ends[0], &byte, 1);
      end();
      _exit(0);
    }
    close(ends[0]);
    line_ = ends[1];
  }
  void end_unreaped() {
    ASSERT_EQ(write(line_, "x", 1), 1);  // not close(): a later child holds this end too
    close(line_);
    siginfo_t info{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT), 0);
  }
  void reap() { waitpid(pid_, nullptr, 0); }
  std::uint64_t ticks() const {
    std::uint64_t ticks = lanes::own_start_ticks();
    while (!is_alive(pid_, ticks)) ++ticks;
    return ticks;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  int line_ = -1;
};

TEST(ProcessTest, AZombieTellsItsEnd) {
  Child killed([] { raise(SIGKILL); }), left([] { _exit(7); });
  EndWatch of_killed(killed.pid(), killed.ticks()), of_left(left.pid(), left.ticks());
  EXPECT_EQ(of_killed.wait_status(), std::nullopt);
  killed.end_unreaped();
  left.end_unreaped();
  const std::optional<int> kill = of_killed.wait_status(), leave = of_left.wait_status();
  killed.reap();
  left.reap();
  ASSERT_TRUE(kill && leave);
  EXPECT_TRUE(WIFSIGNALED(*kill) && WTERMSIG(*kill) == SIGKILL);
  EXPECT_TRUE(WIFEXITED(*leave) && WEXITSTATUS(*leave) == 7);
  EXPECT_EQ(of_killed.wait_status(), kill);  // it is remembered
}

TEST(ProcessTest, AReapedProcessTellsItsEndOnNewKernelsOnly) {
  Child child([] { raise(SIGTERM); });
  EndWatch watch(child.pid(), child.ticks());
  child.end_unreaped();
  child.reap();
  const std::optional<int> status = watch.wait_status();
  if (!status) GTEST_SKIP() << "this kernel does not tell";
  EXPECT_TRUE(WIFSIGNALED(*status) && WTERMSIG(*status) == SIGTERM);
}

TEST(ProcessTest, NobodysEndIsNotKnown) {
  EXPECT_EQ(EndWatch(0x7ffffffe, 5).wait_status(), std::nullopt);
  EXPECT_EQ(EndWatch(getpid(), lanes::own_start_ticks() + 1).wait_status(), std::nullopt);
}

TEST(ProcessTest, MappedFiles) {
  char self[4096] = {};
  ASSERT_GT(readlink("/proc/self/exe", self, sizeof self - 1), 0);
  EXPECT_TRUE(has_mapped(getpid(), self));
  EXPECT_FALSE(has_mapped(getpid(), "/no-such-file"));
  EXPECT_FALSE(has_mapped(0x7ffffffe, self));
}

}  // namespace
}  // namespace castscope::relay
