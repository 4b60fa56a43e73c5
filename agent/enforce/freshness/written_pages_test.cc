#include "agent/enforce/freshness/written_pages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "agent/enforce/freshness/testing/pages.h"

namespace castscope::enforce {
namespace {

constexpr std::size_t kSize = 2 * kHuge;
constexpr int kPageOut = 21, kCollapse = 25, kDontUnmap = 4;  // newer headers have them

void* map(std::size_t bytes, int flags = MAP_PRIVATE | MAP_ANONYMOUS, int fd = -1, void* at = nullptr) {
  return mmap(at, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
}

// kSize bytes that begin where a huge page can begin, with more memory on both sides.
struct Memory {
  explicit Memory(int advice = MADV_NOHUGEPAGE, bool touched = true) {
    madvise(all, kSize + 2 * kHuge, advice);
    if (touched) std::memset(at, 1, kSize);
  }
  ~Memory() { munmap(all, kSize + 2 * kHuge); }
  char* const all = static_cast<char*>(map(kSize + 2 * kHuge));
  char* const at = all + kHuge - reinterpret_cast<std::uintptr_t>(all) % kHuge;
};

char read_all(const char* memory, std::size_t bytes) {
  char sum = 0;
  for (std::size_t i = 0; i < bytes; i += 64) sum ^= *static_cast<const volatile char*>(memory + i);
  return sum;
}

class WrittenPagesTest : public testing::Test {
 protected:
  void SetUp() override {
    const int allowed = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
    uffdio_api api{UFFD_API, 1 << 15, 0};  // WP_ASYNC, of Linux 6.7
    if (allowed < 0) GTEST_SKIP() << "userfaultfd is refused here: " << std::strerror(errno);
    const bool knows = ioctl(allowed, UFFDIO_API, &api) == 0;
    close(allowed);
    if (!knows) GTEST_SKIP() << "Linux is older than 6.7";
    ASSERT_TRUE(pages.works());
  }
  WrittenPages::Range watched(const char* memory, std::size_t bytes) {
    const auto range = pages.watch(memory, bytes);
    EXPECT_TRUE(range);
    read_all(memory, bytes);  // the copy
    return range.value_or(WrittenPages::Range{});
  }
  bool unwritten(const WrittenPages::Range& range) { return pages.unwritten(range); }
  bool watchable(const void* memory, std::size_t bytes) { return pages.watch(memory, bytes).has_value(); }

  WrittenPages pages;
};

// Something that is done to memory of two huge pages. The calls do not fail because it is watched.
struct Deed {
  const char* name;
  void (*to)(char* memory);
};
const Deed kWrites[] = {
    {"Store", [](char* m) { m[12345] = 7; }},
    {"StoreToTheFirstByte", [](char* m) { m[0] = 7; }},
    {"StoreToTheLastByte", [](char* m) { m[kSize - 1] = 7; }},
    {"StoreOfWhatIsThere", [](char* m) { *static_cast<volatile char*>(m + 12345) = m[12345]; }},
    {"StoreByAnotherThread", [](char* m) { std::thread([m] { m[3 * kPage] = 7; }).join(); }},
    {"Read",
     [](char* m) {
       int ends[2];
       ASSERT_EQ(pipe(ends), 0);
       ASSERT_EQ(write(ends[1], "written", 7), 7);
       EXPECT_EQ(read(ends[0], m + kHuge + 5 * kPage - 3, 7), 7);
       close(ends[0]), close(ends[1]);
     }},
    {"ReadDirect",
     [](char* m) {
       char path[] = "/var/tmp/written_pages_XXXXXX";
       close(mkstemp(path));
       int fd = open(path, O_RDWR | O_DIRECT);
       if (fd < 0) fd = open(path, O_RDWR);  // a file system that cannot do it
       EXPECT_EQ(pwrite(fd, m, kPage, 0), static_cast<ssize_t>(kPage));
       EXPECT_EQ(pread(fd, m + kPage, kPage, 0), static_cast<ssize_t>(kPage));
       close(fd), unlink(path);
     }},
    {"ProcessVmWritev",
     [](char* m) {
       char seven[] = "seven";
       const iovec from{seven, 5}, to{m + 100 * kPage, 5};
       EXPECT_EQ(process_vm_writev(getpid(), &from, 1, &to, 1, 0), 5);
     }},
    {"WriteToProcSelfMem",
     [](char* m) {
       const int fd = open("/proc/self/mem", O_RDWR);
       EXPECT_EQ(pwrite(fd, "seven", 5, static_cast<off_t>(reinterpret_cast<std::uintptr_t>(m)) + 200), 5);
       close(fd);
     }},
    {"Futex",
     [](char* m) { EXPECT_EQ(syscall(SYS_futex, m, FUTEX_WAKE_OP, 1, 1, m, FUTEX_OP(FUTEX_OP_SET, 7, 0, 0)), 0); }},
    {"DontNeed", [](char* m) { EXPECT_EQ(madvise(m + kPage, kPage, MADV_DONTNEED), 0); }},
    {"DontNeedOfAHugePage", [](char* m) { EXPECT_EQ(madvise(m, kHuge, MADV_DONTNEED), 0); }},
    {"DontNeedOfAll", [](char* m) { EXPECT_EQ(madvise(m, kSize, MADV_DONTNEED), 0); }},
    {"DontNeedThenReading",
     [](char* m) {
       madvise(m, kSize, MADV_DONTNEED);
       read_all(m, kSize);
     }},
    {"FreeThenStore",
     [](char* m) {
       EXPECT_EQ(madvise(m, kSize, MADV_FREE), 0);
       m[kPage] = 7;
     }},
    {"PageOutThenStore",
     [](char* m) {
       EXPECT_EQ(madvise(m, kSize, kPageOut), 0);
       m[kPage] = 7;
     }},
    {"CollapseThenStore",
     [](char* m) {
       madvise(m, kSize, kCollapse);
       m[kPage] = 7;
     }},
    {"ProtectionThenStore",
     [](char* m) {
       EXPECT_EQ(mprotect(m, kSize, PROT_READ), 0);
       EXPECT_EQ(mprotect(m, kSize, PROT_READ | PROT_WRITE), 0);
       m[kPage] = 7;
     }},
    {"ForkThenStore",
     [](char* m) {
       EXPECT_EQ(in_child([] { return 5; }), 5);
       m[kPage] = 7;
     }},
    {"MappedAnew",
     [](char* m) {
       EXPECT_EQ(munmap(m + kPage, kPage), 0);
       EXPECT_EQ(map(kPage, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, m + kPage), m + kPage);
     }},
    {"AllMappedAnewThenReading",
     [](char* m) {
       EXPECT_EQ(map(kSize, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, m), m);
       read_all(m, kSize);
     }},
    {"MovedThere", [](char* m) { EXPECT_EQ(mremap(map(kHuge), kHuge, kHuge, MREMAP_MAYMOVE | MREMAP_FIXED, m), m); }},
    {"MovedThereWithinIt",
     [](char* m) { EXPECT_EQ(mremap(m + kHuge, kHuge, kHuge, MREMAP_MAYMOVE | MREMAP_FIXED, m), m); }},
    {"MovedAway",
     [](char* m) {
       void* const away = mremap(m, kHuge, kHuge, MREMAP_MAYMOVE | kDontUnmap, nullptr);
       ASSERT_NE(away, MAP_FAILED);
       munmap(away, kHuge);
     }},
    {"MovedAwayWrittenAndMovedBack",
     [](char* m) {
       void* const away = mremap(m, kHuge, kHuge, MREMAP_MAYMOVE | kDontUnmap, nullptr);
       ASSERT_NE(away, MAP_FAILED);
       static_cast<char*>(away)[0] = 7;
       EXPECT_EQ(mremap(away, kHuge, kHuge, MREMAP_MAYMOVE | MREMAP_FIXED, m), m);
     }},
};
const Deed kNoWrites[] = {
    {"Nothing", [](char*) {}},
    {"Reading", [](char* m) { read_all(m, kSize); }},
    {"WritingItToAFile",
     [](char* m) {
       const int fd = static_cast<int>(syscall(SYS_memfd_create, "file", 0));
       EXPECT_EQ(write(fd, m, kSize), static_cast<ssize_t>(kSize));
       close(fd);
     }},
    {"WritesOfAChild", [](char* m) { EXPECT_EQ(in_child([m] { return std::memset(m, 2, kSize), m[9]; }), 2); }},
    {"Protection", [](char* m) { mprotect(m, kSize, PROT_READ), mprotect(m, kSize, PROT_READ | PROT_WRITE); }},
    {"PageOut", [](char* m) { EXPECT_EQ(madvise(m, kSize, kPageOut), 0); }},
    {"PageOutThenReading",
     [](char* m) {
       madvise(m, kSize, kPageOut);
       read_all(m, kSize);
     }},
    {"StoresBesideIt", [](char* m) { m[-1] = m[kSize] = 7; }},
};

// The number of the process's maps; maps that touch and are alike are one.
std::size_t maps() {
  std::ifstream file("/proc/self/maps");
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
}

struct Case {
  std::string how;  // how the pages are, where the machine has huge ones
  Deed deed;
  bool seen;
};
void PrintTo(const Case& c, std::ostream* to) { *to << c.how << " " << c.deed.name; }
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const char* how : {"Small", "Huge", "Untouched"}) {
    for (const Deed& write : kWrites) cases.push_back({how, write, true});
    for (const Deed& deed : kNoWrites) cases.push_back({how, deed, false});
  }
  return cases;
}

class DeedsTest : public WrittenPagesTest, public testing::WithParamInterface<Case> {};

TEST_P(DeedsTest, AreSeenWhereTheyWriteAndOnlyThere) {
  const auto& [how, deed, seen] = GetParam();
  const Memory memory(how == "Huge" ? MADV_HUGEPAGE : MADV_NOHUGEPAGE, how != "Untouched");
  char* const m = memory.at;
  const auto range = watched(m, kSize);
  EXPECT_TRUE(unwritten(range));
  deed.to(m);
  EXPECT_EQ(unwritten(range), !seen);
  const auto again = watched(m, kHuge);
  EXPECT_TRUE(unwritten(again));
  EXPECT_EQ(unwritten(range), !seen) << "though it is watched anew";
  m[kHuge - 1] = 9;
  EXPECT_FALSE(unwritten(again));
  EXPECT_FALSE(unwritten(range));
}
INSTANTIATE_TEST_SUITE_P(All, DeedsTest, testing::ValuesIn(all_cases()),
                         [](const auto& info) { return info.param.how + info.param.deed.name; });

TEST_F(WrittenPagesTest, WholePagesAreWatchedAndTheRestIsTold) {
  const Memory memory;
  const auto span = [&](std::size_t from, std::size_t to) {
    const auto range = watched(memory.at + from, to - from);
    const auto* const begin = reinterpret_cast<std::byte*>(memory.at);
    return std::array{range.head.data() - begin, static_cast<std::ptrdiff_t>(range.head.size()),
                      range.tail.data() - begin, static_cast<std::ptrdiff_t>(range.tail.size())};
  };
  const auto page = static_cast<std::ptrdiff_t>(kPage);
  EXPECT_EQ(span(0, kPage), (std::array<std::ptrdiff_t, 4>{0, 0, page, 0}));
  EXPECT_EQ(span(1, 3 * kPage - 1), (std::array<std::ptrdiff_t, 4>{1, page - 1, 2 * page, page - 1}));
  EXPECT_EQ(span(kPage - 1, 2 * kPage + 1), (std::array<std::ptrdiff_t, 4>{page - 1, 1, 2 * page, 1}));
  EXPECT_FALSE(watchable(memory.at + 1, 2 * kPage - 2)) << "no whole page";
}

TEST_F(WrittenPagesTest, WhatOthersCouldWriteToIsNotWatched) {
  const int file = static_cast<int>(syscall(SYS_memfd_create, "file", 0));
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(kSize)), 0);
  for (void* memory : {map(kSize, MAP_SHARED | MAP_ANONYMOUS), map(kSize, MAP_SHARED, file),
                       map(kSize, MAP_PRIVATE, file), map(kHuge, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB)}) {
    if (memory == MAP_FAILED) continue;  // no huge pages are set aside
    EXPECT_FALSE(watchable(memory, kSize));
    munmap(memory, kSize);
  }
  const Memory memory;
  map(kPage, MAP_SHARED | MAP_FIXED, file, memory.at + 7 * kPage);
  maps();
  const std::size_t maps_before = maps();
  const auto first = watched(memory.at, kPage);
  EXPECT_FALSE(watchable(memory.at, kSize)) << "a part of it";
  pages.forget(first);
  EXPECT_EQ(maps(), maps_before) << "another part is left registered";
  EXPECT_TRUE(watchable(memory.at, 7 * kPage));
  munmap(memory.at + 7 * kPage, kPage);
  EXPECT_FALSE(watchable(memory.at, kSize)) << "a hole";
  EXPECT_FALSE(watchable(memory.at + 7 * kPage, kPage));
  EXPECT_FALSE(watchable(nullptr, kSize));
  EXPECT_FALSE(watchable(memory.at, ~std::size_t{0}));
  EXPECT_FALSE(watchable(reinterpret_cast<void*>(~std::uintptr_t{0} - 10), 20));
  close(file);
}

TEST_F(WrittenPagesTest, WhatEachOfManyRangesSeesIsExact) {
  constexpr std::size_t kPages = 64, kRanges = 24;
  const Memory memory;
  std::array<int, kPages> versions{};
  struct Watched {
    WrittenPages::Range range;
    std::size_t first = 0, last = 0;
    std::vector<int> versions;
  };
  std::vector<Watched> all;
  std::mt19937 random(1);
  const auto versions_of = [&](std::size_t first, std::size_t last) {
    return std::vector<int>(versions.begin() + static_cast<int>(first), versions.begin() + static_cast<int>(last));
  };
  for (int n = 0; n < 60000; ++n) {
    const std::size_t page = random() % kPages;
    char* const at = memory.at + page * kPage;
    const std::size_t which = all.empty() ? 0 : random() % all.size();
    if (const unsigned deed = random() % 16; deed < 4) {
      const std::size_t pages_of_it = 1 + random() % (kPages - page);
      if (all.size() == kRanges) pages.forget(all[which].range), all.erase(all.begin() + static_cast<int>(which));
      all.push_back(
          {watched(at, pages_of_it * kPage), page, page + pages_of_it, versions_of(page, page + pages_of_it)});
    } else if (deed < 6) {
      at[random() % kPage] = static_cast<char>(n), ++versions[page];
    } else if (deed == 6) {
      madvise(at, kPage, MADV_DONTNEED), ++versions[page];
    } else if (deed == 7 && random() % 8 == 0) {
      map(kPage, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, at), ++versions[page];
    } else if (!all.empty()) {
      const Watched& w = all[which];
      ASSERT_EQ(unwritten(w.range), w.versions == versions_of(w.first, w.last))
          << n << ": " << w.first << " " << w.last;
    }
  }
}

TEST_F(WrittenPagesTest, ARangeThatIsForgottenLeavesTheOthers) {
  const Memory memory;
  maps();  // takes its memory
  const std::size_t maps_before = maps();
  const auto whole = watched(memory.at, 8 * kPage), part = watched(memory.at + 2 * kPage, 2 * kPage);
  pages.forget(whole);
  EXPECT_TRUE(unwritten(part));
  const auto later = watched(memory.at, 8 * kPage);
  pages.forget(part);
  EXPECT_TRUE(unwritten(later));
  memory.at[3 * kPage] = 7;
  EXPECT_FALSE(unwritten(later));
  pages.forget(later);
  EXPECT_EQ(maps(), maps_before) << "it is left registered";
  EXPECT_FALSE(unwritten(later));
  EXPECT_FALSE(unwritten({}));
  const auto unmapped = watched(memory.at, 8 * kPage);
  munmap(memory.at, kHuge);
  pages.forget(unmapped);
}

}  // namespace
}  // namespace castscope::enforce
