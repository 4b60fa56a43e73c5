#include "server/cli/attaching/running.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/cli/attaching/inject.h"

namespace castscope::cli {
namespace {

Running training() {
  return {.pid = 4711,
          .exists = true,
          .is_readable = true,
          .user = 1000,
          .executable = "/usr/bin/python3.11",
          .torch_library = "/venv/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so"};
}
constexpr Rights kPlain{.user = 1000};

bool says(const Running& process, const Rights& rights, const std::string& words) {
  return obstacle(process, rights).find(words) != std::string::npos;
}

TEST(Obstacle, NothingStandsInTheWayOfAProcessOfOnesOwn) { EXPECT_EQ(obstacle(training(), kPlain), ""); }

TEST(Obstacle, EachHasItsFix) {
  EXPECT_TRUE(says({.pid = 4711}, kPlain, "there is no process 4711"));
  EXPECT_TRUE(says(training(), {.user = 1001}, "belongs to user 1000: run castscope as that user"));
  EXPECT_TRUE(says(training(), {.user = 1000, .yama_scope = 1}, "`sysctl kernel.yama.ptrace_scope=0`"));
  EXPECT_EQ(obstacle(training(), {.user = 1000, .yama_scope = 1, .may_trace_all = true}), "");
  EXPECT_TRUE(says(training(), {.user = 1000, .yama_scope = 3, .may_trace_all = true}, "until the next boot"));
  Running closed = training();
  closed.is_readable = false;
  EXPECT_TRUE(says(closed, {.user = 1000, .is_filtered = true}, "--cap-add SYS_PTRACE"));
  EXPECT_TRUE(says(closed, kPlain, "castscope may not look into process 4711"));
  Running without = training();
  without.torch_library = "";
  EXPECT_TRUE(says(without, kPlain, "has not loaded PyTorch"));
  Running known = training();
  known.has_castscope = true;
  EXPECT_TRUE(says(known, kPlain, "castscope is in process 4711 already"));
  Running contained = training();
  contained.sees_other_files = true;
  EXPECT_TRUE(says(contained, kPlain, "run castscope in there"));
  Running stopped = training();
  stopped.is_stopped = true;
  EXPECT_TRUE(says(stopped, kPlain, "process 4711 is stopped, by a signal or a debugger"));
  EXPECT_TRUE(says(stopped, kPlain, "`kill -CONT 4711`"));
}

// castscope starts the program of the process that it comes into.
TEST(Obstacle, RootComesIntoNoProcessThatMayDoLess) {
  constexpr Rights kRoot{.user = 0, .may_trace_all = true};
  EXPECT_TRUE(says(training(), kRoot, "belongs to user 1000: run castscope as that user, as by `sudo -u '#1000'`"));
  Running own = training();
  own.user = 0;
  EXPECT_EQ(obstacle(own, kRoot), "");
  own.may_do_less = true;
  EXPECT_TRUE(says(own, kRoot, "may do less than castscope"));
  own.may_do_less = false, own.is_of_one_user = false;
  EXPECT_TRUE(says(own, kRoot, "rights of several users"));
}

TEST(Capabilities, AreThoseThatAChildOfOursWouldHave) {
  const std::string full = "CapPrm:\t1ff\nCapBnd:\t1ff\nCapAmb:\t0\n", few = "CapPrm:\t0ff\nCapBnd:\t0ff\nCapAmb:\t0\n";
  EXPECT_TRUE(has_more_capabilities(full, few, true));
  EXPECT_FALSE(has_more_capabilities(few, full, true));
  EXPECT_FALSE(has_more_capabilities(full, full, true));
  const std::string user = "CapPrm:\t0\nCapBnd:\t1ff\nCapAmb:\t0\n",
                    lent = "CapPrm:\t80000\nCapBnd:\t1ff\nCapAmb:\t80000\n";
  EXPECT_FALSE(has_more_capabilities(user, user, false));
  EXPECT_TRUE(has_more_capabilities(lent, user, false));
}

TEST(Inspect, ThisProcessIsReadable) {
  const Running self = inspect(getpid());
  EXPECT_TRUE(self.exists && self.is_readable);
  EXPECT_EQ(self.user, geteuid());
  EXPECT_TRUE(self.is_of_one_user);
  EXPECT_FALSE(self.may_do_less);
  EXPECT_EQ(self.torch_library, "");
  EXPECT_FALSE(inspect(1 << 22).exists);
}

TEST(Inspect, AStoppedProcessIsKnown) {
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGSTOP);
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, WUNTRACED), child);
  EXPECT_TRUE(inspect(child).is_stopped);
  EXPECT_FALSE(inspect(getpid()).is_stopped);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(MappedFile, IsFoundByTheBeginOfItsName) {
  const std::string maps =
      "7f00-7f01 r-xp 00000000 fe:00 12 /a b/torch/lib/libtorch_cpu.so.2\n7f02-7f03 rw-p 00000000 00:00 0 [heap]\n";
  EXPECT_EQ(mapped_file(maps, "libtorch_cpu.so"), "/a b/torch/lib/libtorch_cpu.so.2");
  EXPECT_EQ(mapped_file(maps, "libtorch.so"), "");
  EXPECT_EQ(mapped_file("7f00-7f01 r--p 00000000 fe:00 12 /a/libtorch_cpu.so\n", "libtorch_cpu.so"), "");
}

TEST(GdbScript, CallsNothingUnlessTheBreakpointWasReached) {
  const std::string script = gdb_script("/run/libcastscope.so");
  const std::size_t commands = script.find("commands\n"), end = script.find("\nend\ncontinue\n");
  ASSERT_NE(end, std::string::npos);
  EXPECT_GT(script.find("dlopen"), commands);
  EXPECT_LT(script.rfind("$call()"), end);
}

}  // namespace
}  // namespace castscope::cli
