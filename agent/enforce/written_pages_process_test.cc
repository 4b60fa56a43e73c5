// What becomes of it in a process that forks, closes its descriptors or may not do everything; and what it costs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "agent/enforce/written_pages.h"

namespace castscope::enforce {
namespace {

constexpr std::size_t kSize = 4 << 20, kHuge = 2 << 20;

char* mapped(std::size_t bytes, int flags = MAP_PRIVATE) {
  char* const memory = static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0));
  std::memset(memory, 1, bytes);
  return memory;
}

std::set<int> descriptors() {
  std::set<int> open;
  for (int fd = 0; fd < 1 << 13; ++fd)
    if (fcntl(fd, F_GETFD) >= 0) open.insert(fd);
  return open;
}

// What it returns in a forked child; 99 when it hangs or dies there.
int in_child(const std::function<int()>& run) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(100);
    _exit(run());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

class WrittenPagesProcessTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!pages.works()) GTEST_SKIP() << "userfaultfd or PAGEMAP_SCAN is refused here, or Linux is older than 6.7";
  }
  void TearDown() override { munmap(memory, kSize); }

  WrittenPages pages;
  char* const memory = mapped(kSize);
};

TEST_F(WrittenPagesProcessTest, AForkedChildHasItsOwn) {
  const auto range = pages.watch(memory, kSize).value();
  const auto open = descriptors();
  EXPECT_EQ(
      in_child([&] { return pages.unwritten(range) + 2 * pages.works() + 4 * pages.watch(memory, kSize).has_value(); }),
      0)
      << "nobody said that it began";
  EXPECT_EQ(in_child([&] {
              pages.child_begins();
              const auto own = pages.watch(memory, kSize);
              const bool fresh = own && pages.unwritten(*own);
              pages.forget(range);  // the parent's
              const bool still = pages.unwritten(*own), parents = pages.unwritten(range);
              memory[0] = 7;
              return fresh + 2 * still + 4 * parents + 8 * pages.unwritten(*own) + 16 * (descriptors() != open);
            }),
            3);
  EXPECT_TRUE(pages.unwritten(range));
  memory[0] = 7;
  EXPECT_FALSE(pages.unwritten(range));
}

TEST_F(WrittenPagesProcessTest, AChildIsForkedWhileOthersAreAtWork) {
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) pages.forget(*pages.watch(memory, kSize));
  });
  for (int n = 0; n < 100; ++n) {
    EXPECT_EQ(in_child([&] {
                pages.child_begins();
                const auto own = pages.watch(memory, kSize);
                return own && pages.unwritten(*own) ? 1 : 0;
              }),
              1);
  }
  done = true;
  other.join();
}

TEST_F(WrittenPagesProcessTest, ItsDescriptorsAreOutOfTheWay) {
  const auto before = descriptors();
  std::set<int> ours;
  {
    const WrittenPages another;
    for (const int fd : descriptors())
      if (!before.contains(fd)) ours.insert(fd);
    for (const int fd : ours) EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_EQ(ours.size(), 3u);
  EXPECT_GE(*ours.begin(), 64);
  EXPECT_EQ(descriptors(), before);
}

TEST_F(WrittenPagesProcessTest, AJobMayCloseItsDescriptorsAndTakeTheirNumbers) {
  const auto jobs = [&] {
    WrittenPages another;
    const auto range = another.watch(memory, kSize);
    const int first = *descriptors().rbegin() - 2, fresh = another.unwritten(*range);
    for (int fd = first; fd < first + 3; ++fd) close(fd);
    const int closed = another.unwritten(*range) || another.watch(memory, kSize);
    for (int fd = first; fd < first + 3; ++fd) dup2(2, fd);
    const int taken = another.unwritten(*range) || another.watch(memory, kSize);
    another.forget(*range);
    another.child_begins();
    return fresh + 2 * closed + 4 * taken + 8 * !descriptors().contains(first);
  };
  EXPECT_EQ(in_child(jobs), 1);
}

// From now on this call fails; of ioctl only the one with this number.
void refuse(long call, unsigned error, unsigned request = 0) {
  const sock_filter all[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, request == 0 ? 0u : 24u),  // the second argument
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, request == 0 ? static_cast<unsigned>(call) : request, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{6, const_cast<sock_filter*>(all)};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
    _exit(77);
}
constexpr unsigned kPageScan = 0xc0606610, kMapQuery = 0xc0686611, kUffdApi = 0xc018aa3f;

TEST(WrittenPagesRefusedTest, IsAnsweredByDoingNothing) {
  char* const memory = mapped(kSize);
  const std::vector<std::function<void()>> refusals = {
      [] { refuse(SYS_userfaultfd, EPERM); },
      [] { refuse(SYS_ioctl, EINVAL, kUffdApi); },
      [] { refuse(SYS_ioctl, ENOTTY, kPageScan); },
      [] { refuse(SYS_openat, EACCES); },
      [] { refuse(SYS_madvise, EINVAL); },
      [] { refuse(SYS_ioctl, EACCES, kMapQuery); },
      [] {
        setrlimit(RLIMIT_NOFILE, std::array<rlimit, 1>{{{32, 32}}}.data());
      },
  };
  for (std::size_t i = 0; i < refusals.size(); ++i) {
    EXPECT_EQ(in_child([&] {
                const auto before = descriptors();
                refusals[i]();
                WrittenPages pages;
                const bool none = !pages.works() && !pages.watch(memory, kSize) && !pages.unwritten({});
                pages.forget({});
                pages.child_begins();
                return none && descriptors() == before ? 1 : 0;
              }),
              1)
        << i;
  }
}

TEST_F(WrittenPagesProcessTest, BeforeLinux611MapsAreReadAsText) {
  char* const shared = mapped(kSize, MAP_SHARED);
  EXPECT_EQ(in_child([&] {
              refuse(SYS_ioctl, ENOTTY, kMapQuery);
              WrittenPages another;
              const auto range = another.watch(memory, kSize);
              const bool fresh = range && another.unwritten(*range);
              memory[7] = 7;
              munmap(memory + kHuge, kHuge / 2);
              return another.works() + 2 * fresh + 4 * another.unwritten(*range) +
                     8 * another.watch(shared, kSize).has_value() + 16 * another.watch(memory, kSize).has_value();
            }),
            3);
}

// What it costs: CASTSCOPE_BENCH=1 enforce_test --gtest_filter=*Costs
TEST_F(WrittenPagesProcessTest, Costs) {
  if (std::getenv("CASTSCOPE_BENCH") == nullptr) GTEST_SKIP() << "CASTSCOPE_BENCH is not set";
  const auto timed = [](int times, const auto& run, const auto& between) {
    double best = 1e9;
    for (int n = 0; n < times; ++n) {
      between();
      const auto start = std::chrono::steady_clock::now();
      run();
      best =
          std::min(best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
  };
  std::printf("%-6s %8s %8s %8s %10s %8s %8s %8s µs\n", "pages", "KB", "watch", "again", "unwritten", "written",
              "a write", "forget");
  for (const bool huge : {false, true}) {
    for (const std::size_t kb : {64, 1 << 10, 4 << 10, 64 << 10}) {
      const std::size_t bytes = kb << 10;
      char* const all = mapped(bytes + kHuge);
      char* const at = all + kHuge - reinterpret_cast<std::uintptr_t>(all) % kHuge;
      madvise(all, bytes + kHuge, MADV_DONTNEED);
      madvise(all, bytes + kHuge, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
      std::memset(all, 1, bytes + kHuge);
      WrittenPages pages;
      WrittenPages::Range range;
      const auto watch = [&] { range = pages.watch(at, bytes).value(); };
      const auto forget = [&] { pages.forget(range); };
      const auto ask = [&] { pages.unwritten(range); };
      const auto write = [&] { *static_cast<volatile char*>(at + bytes / 2) = 2; };
      const double first = timed(50, watch, forget);
      forget();
      const double last = timed(50, forget, watch);
      watch();
      const double asked = timed(500, ask, [] {}), fault = timed(50, write, watch), stale = timed(50, ask, write),
                   again = timed(50, watch, write);
      std::printf("%-6s %8zu %8.2f %8.2f %10.2f %8.2f %8.2f %8.2f\n", huge ? "huge" : "small", kb, first, again, asked,
                  stale, fault, last);
      munmap(all, bytes + kHuge);
    }
  }
}

}  // namespace
}  // namespace castscope::enforce
