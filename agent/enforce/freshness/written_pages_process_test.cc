// Tests in a process that has threads, forks, closes descriptors or lacks some permission; and measures the cost.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "agent/enforce/freshness/testing/pages.h"
#include "agent/enforce/freshness/written_pages.h"

namespace castscope::enforce {
namespace {

constexpr std::size_t kBytes = 4 << 20;

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

class WrittenPagesProcessTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!pages.works()) GTEST_SKIP() << "userfaultfd is refused here, or Linux is older than 6.7";
  }
  void TearDown() override { munmap(memory, kBytes); }

  WrittenPages pages;
  char* const memory = mapped(kBytes);
};

// A write that began after watch() and ended before the question must be seen, whichever other thread watches the same
// pages.
TEST_F(WrittenPagesProcessTest, ThreadsThatWatchTheSamePagesHideNothingFromEachOther) {
  constexpr std::size_t kPages = 32;
  std::array<std::atomic<long>, kPages> begun{}, ended{};
  std::atomic<int> watching{3};
  std::atomic<long> wrong{0}, fresh{0}, stale{0};
  const auto sum = [](const auto& of, std::size_t first, std::size_t last) {
    long all = 0;
    for (std::size_t i = first; i < last; ++i) all += of[i];
    return all;
  };
  const auto write = [&](unsigned seed) {
    for (std::mt19937 random(seed); watching > 0; std::this_thread::yield()) {
      const std::size_t page = random() % kPages;
      ++begun[page];
      __atomic_store_n(memory + page * kPage + seed, static_cast<char>(random()), __ATOMIC_RELAXED);
      ++ended[page];
    }
  };
  const auto watch = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int n = 0; n < 8000; ++n) {
      const std::size_t first = random() % kPages, last = first + 1 + random() % (kPages - first);
      const auto range = pages.watch(memory + first * kPage, (last - first) * kPage).value();
      const long before = sum(begun, first, last);
      do {
        const long after = sum(ended, first, last);
        const bool same = pages.unwritten(range);
        wrong += same && after > before;
        ++(same ? fresh : stale);
      } while (random() % 4 != 0);
      pages.forget(range);
    }
    --watching;
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 2; ++seed) threads.emplace_back(write, seed);
  for (unsigned seed = 11; seed <= 13; ++seed) threads.emplace_back(watch, seed);
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(fresh, 0);
  EXPECT_GT(stale, 0);
}

TEST_F(WrittenPagesProcessTest, AForkedChildHasItsOwn) {
  const auto range = pages.watch(memory, kBytes).value();
  const auto open = descriptors();
  EXPECT_EQ(in_child([&] {
              return pages.unwritten(range) + 2 * pages.works() + 4 * pages.watch(memory, kBytes).has_value();
            }),
            0)
      << "nobody said that it began";
  EXPECT_EQ(in_child([&] {
              pages.child_begins();
              const auto own = pages.watch(memory, kBytes);
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
    while (!done) pages.forget(*pages.watch(memory, kBytes));
  });
  for (int n = 0; n < 100; ++n) {
    EXPECT_EQ(in_child([&] {
                pages.child_begins();
                const auto own = pages.watch(memory, kBytes);
                return own && pages.unwritten(*own) ? 1 : 0;
              }),
              1);
  }
  done = true;
  other.join();
}

TEST_F(WrittenPagesProcessTest, TheJobsOwnUserfaultfdIsLeftAlone) {
  const int own = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
  uffdio_api api{UFFD_API, 0, 0};
  ASSERT_EQ(ioctl(own, UFFDIO_API, &api), 0);
  uffdio_register some{{reinterpret_cast<std::uintptr_t>(memory) + kPage, kPage}, UFFDIO_REGISTER_MODE_MISSING, 0};
  ASSERT_EQ(ioctl(own, UFFDIO_REGISTER, &some), 0);
  EXPECT_FALSE(pages.watch(memory, kBytes));
  EXPECT_FALSE(pages.watch(memory, kBytes)) << "the first attempt has ended it";
  close(own);
  EXPECT_TRUE(pages.watch(memory, kBytes));
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
    const auto range = another.watch(memory, kBytes);
    const int first = *descriptors().rbegin() - 2, fresh = another.unwritten(*range);
    for (int fd = first; fd < first + 3; ++fd) close(fd);
    const int closed = another.unwritten(*range) || another.watch(memory, kBytes);
    for (int fd = first; fd < first + 3; ++fd) dup2(2, fd);
    const int taken = another.unwritten(*range) || another.watch(memory, kBytes);
    another.forget(*range);
    another.child_begins();
    return fresh + 2 * closed + 4 * taken + 8 * !descriptors().contains(first);
  };
  EXPECT_EQ(in_child(jobs), 1);
}

// From now on this thread gets `answer` from this call; for ioctl, only from the one with this number.
int filter(long call, unsigned answer, unsigned request, unsigned flags = 0) {
  const sock_filter all[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, request == 0 ? 0u : 24u),  // the second argument
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, request == 0 ? static_cast<unsigned>(call) : request, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, answer),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{6, const_cast<sock_filter*>(all)};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program));
}
void refuse(long call, unsigned error, unsigned request = 0) {
  if (filter(call, SECCOMP_RET_ERRNO | error, request) != 0) _exit(77);
}
constexpr unsigned kPageScan = 0xc0606610, kMapQuery = 0xc0686611, kUffdApi = 0xc018aa3f, kWriteProtect = 0xc018aa06;

TEST(WrittenPagesRefusedTest, IsAnsweredByDoingNothing) {
  char* const memory = mapped(kBytes);
  const std::vector<std::function<void()>> refusals = {
      [] { refuse(SYS_userfaultfd, EPERM); },
      [] { refuse(SYS_ioctl, EINVAL, kUffdApi); },
      [] { refuse(SYS_ioctl, ENOTTY, kPageScan); },
      [] { refuse(SYS_ioctl, 0, kPageScan); },  // a kernel that sees no writes
      [] { refuse(SYS_ioctl, 0, kWriteProtect); },
      [] { refuse(SYS_openat, EACCES); },
      [] { refuse(SYS_madvise, EINVAL); },
      [] { refuse(SYS_ioctl, EACCES, kMapQuery); },
      [] {
        const rlimit few{32, 32};
        setrlimit(RLIMIT_NOFILE, &few);
      },
  };
  for (std::size_t i = 0; i < refusals.size(); ++i) {
    EXPECT_EQ(in_child([&] {
                const auto before = descriptors();
                refusals[i]();
                WrittenPages pages;
                const bool none = !pages.works() && !pages.watch(memory, kBytes) && !pages.unwritten({});
                const bool tidy = descriptors() == before;
                pages.forget({});
                pages.child_begins();
                return none && tidy ? 1 : 0;
              }),
              1)
        << i;
  }
}

TEST_F(WrittenPagesProcessTest, BeforeLinux611MapsAreReadAsText) {
  char* const shared = mapped(kBytes, MAP_SHARED);
  EXPECT_EQ(in_child([&] {
              refuse(SYS_ioctl, ENOTTY, kMapQuery);
              WrittenPages another;
              const auto range = another.watch(memory, kBytes);
              const bool fresh = range && another.unwritten(*range);
              memory[7] = 7;
              munmap(memory + kHuge, kHuge / 2);
              return another.works() + 2 * fresh + 4 * another.unwritten(*range) +
                     8 * another.watch(shared, kBytes).has_value() + 16 * another.watch(memory, kBytes).has_value();
            }),
            3);
}

TEST_F(WrittenPagesProcessTest, WhatIsWatchedAnewJustBeforeTheKernelIsAskedStaysWritten) {
  const auto asked = [&] {
    pages.child_begins();
    const auto range = pages.watch(memory, kBytes).value();
    memory[0] = 7;
    std::atomic<int> stopped{0};
    bool said = true;
    std::thread asking([&] {
      stopped = filter(SYS_ioctl, SECCOMP_RET_USER_NOTIF, kPageScan, SECCOMP_FILTER_FLAG_NEW_LISTENER);
      said = pages.unwritten(range);
    });
    while (stopped == 0) std::this_thread::yield();
    if (stopped < 0) _exit(77);
    seccomp_notif at{};
    ioctl(stopped, SECCOMP_IOCTL_NOTIF_RECV, &at);
    const bool again = pages.watch(memory, kBytes).has_value();
    seccomp_notif_resp go_on{at.id, 0, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    ioctl(stopped, SECCOMP_IOCTL_NOTIF_SEND, &go_on);
    asking.join();
    return said + 2 * again;
  };
  const int told = in_child(asked);
  if (told == 77) GTEST_SKIP() << "system calls cannot be stopped here";
  EXPECT_EQ(told, 2);
}

// Measures the cost: CASTSCOPE_BENCH=1 enforce_test --gtest_filter=*Costs
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
