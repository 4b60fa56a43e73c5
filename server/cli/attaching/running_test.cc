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
  EXPECT_EQ(obstacle(training(), {.user = 0, .may_trace_all = true}), "");
  EXPECT_TRUE(says(training(), {.user = 1000, .yama_scope = 1}, "`sysctl kernel.yama.ptrace_scope=0`"));
  EXPECT_EQ(obstacle(training(), {.user = 1000, .yama_scope = 1, .may_trace_all = true}), "");
  EXPECT_TRUE(says(training(), {.user = 1000, .yama_scope = 3, .may_trace_all = true}, "until the next boot"));
  Running closed = training();
  closed.is_readable = false;
  EXPECT_TRUE(says(closed, {.user = 1000, .is_filtered = true}, "--cap-add SYS_PTRACE"));
  EXPECT_TRUE(says(closed, kPlain, "CAP_SYS_PTRACE"));
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

TEST(Inspect, ThisProcessIsReadable) {
  const Running self = inspect(getpid());
  EXPECT_TRUE(self.exists && self.is_readable);
  EXPECT_EQ(self.user, geteuid());
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
