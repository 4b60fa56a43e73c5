#include "agent/enforce/freshness/written_pages.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <string>

#include "agent/lanes/descriptor.h"

namespace castscope::enforce {
namespace {

// The kernel's own definitions, from <linux/userfaultfd.h> and <linux/fs.h> of Linux 6.11: the agent is built against
// whatever headers there are, and older ones lack them.
struct Pages {
  std::uint64_t start, bytes;
};
struct UffdApi {
  std::uint64_t api, features, ioctls;
};
struct UffdRegister {
  Pages pages;
  std::uint64_t mode, ioctls;
};
struct UffdWriteProtect {
  Pages pages;
  std::uint64_t mode;
};
struct PageRegion {
  std::uint64_t start, end, categories;
};
struct PageScan {
  std::uint64_t size, flags, start, end, walk_end, regions, most_regions, most_pages;
  std::uint64_t inverted, all_of, any_of, returned;  // categories
};
struct MapQuery {
  std::uint64_t size, flags, address, start, end, kind, page_size, offset, inode;
  std::uint32_t major, minor, name_size, build_id_size;
  std::uint64_t name, build_id;
};
constexpr unsigned long kUffdApi = _IOWR(0xaa, 0x3f, UffdApi), kUffdRegister = _IOWR(0xaa, 0, UffdRegister),
                        kUffdUnregister = _IOR(0xaa, 1, Pages), kUffdWriteProtect = _IOWR(0xaa, 6, UffdWriteProtect),
                        kPageScan = _IOWR('f', 16, PageScan), kMapQuery = _IOWR('f', 17, MapQuery);
constexpr std::uint64_t kApiVersion = 0xaa, kWriteProtectUnpopulated = 1 << 13, kWriteProtectAsync = 1 << 15;
constexpr int kUserModeOnly = 1;  // the flag that needs no privilege; kernel-side writes are seen with it all the same
constexpr std::uint64_t kRegisterWriteProtect = 1 << 1, kProtect = 1;
constexpr std::uint64_t kFailUnlessAsync = 1 << 1;
constexpr std::uint64_t kAsync = 1 << 0, kWritten = 1 << 1, kPresent = 1 << 3, kSwapped = 1 << 4;
constexpr int kWipeOnFork = 18;  // MADV_WIPEONFORK
#ifndef SYS_userfaultfd
#define SYS_userfaultfd (-1L)
#endif

// A descriptor that the job does not know of, so that the job may close it and take its number for a file of its own.
class Descriptor {
 public:
  // Takes a number far above those that the job expects. Few descriptors are open there, and a higher one would make
  // each fork copy a larger table.
  bool take(int low) {
    if (low < 0) return false;
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t most = std::min<rlim_t>(limit.rlim_cur, 1 << 12);
    number_ = most < 128 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, static_cast<int>(most - 64));
    ::close(low);
    return number_ >= 0 && fstat(number_, &as_taken_) == 0;
  }
  bool is_ours() const {
    struct stat now {};
    return number_ >= 0 && fstat(number_, &now) == 0 && now.st_dev == as_taken_.st_dev &&
           now.st_ino == as_taken_.st_ino;
  }
  void close() {
    if (is_ours()) ::close(number_);
    number_ = -1;
  }
  int number() const { return number_; }

 private:
  int number_ = -1;
  struct stat as_taken_ {};
};

// Asks the kernel about pages, from `begin` to `end`.
class Kernel {
 public:
  bool open() {
    if (!uffd_.take(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | kUserModeOnly)))) return false;
    UffdApi api{kApiVersion, kWriteProtectAsync | kWriteProtectUnpopulated, 0};
    return ioctl(uffd_.number(), kUffdApi, &api) == 0 &&
           pagemap_.take(castscope_open("/proc/self/pagemap", O_RDONLY)) &&
           maps_.take(castscope_open("/proc/self/maps", O_RDONLY)) && sees_writes();
  }
  void close() {
    for (Descriptor* each : {&uffd_, &pagemap_, &maps_}) each->close();
  }
  // From here on until it is unwatched, a page that is written can be told from the others.
  bool watch(std::uintptr_t begin, std::uintptr_t end) {
    UffdRegister registered{{begin, end - begin}, kRegisterWriteProtect, 0};
    UffdWriteProtect protect{{begin, end - begin}, kProtect};
    if (!uffd_.is_ours() || !maps_.is_ours() || !is_private(begin, end)) return false;
    if (ioctl(uffd_.number(), kUffdRegister, &registered) != 0) return false;
    if (ioctl(uffd_.number(), kUffdWriteProtect, &protect) == 0) return true;
    unwatch(begin, end);
    return false;
  }
  // Only for what was watched: older kernels would end the job's own userfaultfd on it.
  void unwatch(std::uintptr_t begin, std::uintptr_t end) {
    Pages pages{begin, end - begin};
    if (uffd_.is_ours()) ioctl(uffd_.number(), kUffdUnregister, &pages);
  }
  bool unwritten(std::uintptr_t begin, std::uintptr_t end) const;

 private:
  bool is_private(std::uintptr_t begin, std::uintptr_t end) const;
  bool is_private_by_text(std::uintptr_t begin, std::uintptr_t end) const;
  bool sees_writes();

  Descriptor uffd_, pagemap_, maps_;
};

// Asking for written pages alone has a shorter way in the kernel, at half the price (mask and returned both
// PAGE_IS_WRITTEN), but its answer is wrong: it passes over memory that has no page table, as after MADV_DONTNEED of a
// huge page (up to July 2026: https://lore.kernel.org/20260708103429.150655-1-kirill@shutemov.name), and took some
// pages in swap for protected ones (up to 6.8: https://lore.kernel.org/20240429114104.182890-1-ryan.roberts@arm.com).
// So two questions are asked. Is there a page that was written, or is not in memory? Only if so: are all the pages in
// memory or in swap, and not written?
bool Kernel::unwritten(std::uintptr_t begin, std::uintptr_t end) const {
  PageRegion region{};
  PageScan scan{};
  scan.size = sizeof scan;
  scan.flags = kFailUnlessAsync;  // memory that was mapped anew or moved there is not async, where older kernels keep
                                  // it protected
  scan.start = begin;
  scan.end = end;
  scan.regions = reinterpret_cast<std::uintptr_t>(&region);
  scan.most_regions = scan.most_pages = 1;
  scan.inverted = kPresent;
  scan.any_of = kWritten | kPresent;
  scan.returned = kWritten;
  const int found = ioctl(pagemap_.number(), kPageScan, &scan);
  if (found != 1) return found == 0;
  scan.most_pages = 0;  // any number, in one region
  scan.inverted = scan.all_of = kWritten;
  scan.any_of = kPresent | kSwapped;
  scan.returned = kAsync;  // so that pages in memory and in swap are one region
  return ioctl(pagemap_.number(), kPageScan, &scan) == 1 && region.start == begin && region.end == end;
}

// Whether no other process can write to these pages: there is no file behind them. Shared memory has one too, without a
// name.
bool Kernel::is_private(std::uintptr_t begin, std::uintptr_t end) const {
  while (begin < end) {
    MapQuery map{};
    map.size = sizeof map;
    map.address = begin;
    if (ioctl(maps_.number(), kMapQuery, &map) != 0) return errno == ENOTTY && is_private_by_text(begin, end);
    if (map.inode != 0 || map.major != 0 || map.minor != 0) return false;
    begin = map.end;
  }
  return true;
}

// The same before Linux 6.11, a thousand times slower: each line is "begin-end rwxp offset major:minor inode  path".
bool Kernel::is_private_by_text(std::uintptr_t begin, std::uintptr_t end) const {
  std::string text;
  char more[4096];
  off_t at = 0;
  for (ssize_t got; begin < end && (got = pread(maps_.number(), more, sizeof more, at)) > 0; at += got) {
    text.append(more, static_cast<std::size_t>(got));
    for (std::size_t newline; begin < end && (newline = text.find('\n')) != text.npos; text.erase(0, newline + 1)) {
      unsigned long first = 0, last = 0, inode = 0;
      unsigned major = 0, minor = 0;
      if (sscanf(text.c_str(), "%lx-%lx %*s %*x %x:%x %lu", &first, &last, &major, &minor, &inode) != 5) return false;
      if (last <= begin) continue;
      if (first > begin || major != 0 || minor != 0 || inode != 0) return false;
      begin = last;
    }
  }
  return begin >= end;
}

// Tests on a page of our own that a write shows, and a read does not.
bool Kernel::sees_writes() {
  const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  volatile char& byte = *static_cast<char*>(memory);
  const auto begin = reinterpret_cast<std::uintptr_t>(memory), end = begin + size;
  byte = 1;
  bool right = watch(begin, end) && byte == 1 && unwritten(begin, end);
  byte = 2;
  right = right && !unwritten(begin, end) && watch(begin, end) && byte == 2 && unwritten(begin, end);
  munmap(memory, size);
  return right;
}

std::atomic<bool>* page_wiped_by_fork() {
  const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const page = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (madvise(page, size, kWipeOnFork) == 0) return new (page) std::atomic<bool>(true);
  munmap(page, size);
  return nullptr;
}

// A part of the watched memory: every range holds it whole or not at all.
struct Piece {
  std::uintptr_t end = 0;
  std::uint64_t written = 0;  // number of the watch that found it written, or new
  std::uint32_t ranges = 0;   // how many hold it
  bool watched = false;
};
using Pieces = std::map<std::uintptr_t, Piece>;  // by address of the begin

void cut(Pieces& pieces, std::uintptr_t at) {
  const auto behind = pieces.lower_bound(at);
  if (behind == pieces.begin()) return;
  Piece& piece = std::prev(behind)->second;
  if (piece.end <= at) return;
  pieces.emplace_hint(behind, at, piece);
  piece.end = at;
}

void fill(Pieces& pieces, std::uintptr_t begin, std::uintptr_t end) {
  for (auto next = pieces.lower_bound(begin); begin < end; ++next) {
    const std::uintptr_t gap_end = next == pieces.end() ? end : std::min(next->first, end);
    if (begin < gap_end) next = pieces.emplace_hint(next, begin, Piece{gap_end});
    begin = next->second.end;
  }
}

}  // namespace

// Watching a piece anew, while others watch it already, loses what they could have been told: from then on their ranges
// are older than `written`.
struct WrittenPages::State {
  std::mutex mutex;
  Kernel kernel;
  bool tried = false, works = false;
  Pieces pieces;
};

WrittenPages::WrittenPages() : here_(page_wiped_by_fork()), state_(new State) { works(); }

// The agent never runs this: it lives as long as the process.
WrittenPages::~WrittenPages() {
  if (!in_this_process()) return;
  state_->kernel.close();  // this ends all protection
  delete state_;
  munmap(here_, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
}

bool WrittenPages::in_this_process() const { return here_ != nullptr && here_->load(std::memory_order_relaxed); }

void WrittenPages::child_begins() {
  if (here_ == nullptr) return;
  state_->kernel.close();  // they tell of the parent's memory
  state_ = new State;      // the old one stays: another thread may have been at work on it
  born_ = now_;
  here_->store(true, std::memory_order_relaxed);
}

// Call with the lock held.
bool WrittenPages::open() {
  if (!state_->tried) {
    state_->tried = true;
    state_->works = state_->kernel.open();
    if (!state_->works) state_->kernel.close();
  }
  return state_->works;
}

bool WrittenPages::works() {
  if (!in_this_process()) return false;
  std::lock_guard lock(state_->mutex);
  return open();
}

std::optional<WrittenPages::Range> WrittenPages::watch(const void* memory, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto* const first = static_cast<const std::byte*>(memory);
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  Range range;
  range.begin = (address + page - 1) / page * page;
  range.end = (address + bytes) / page * page;
  if (range.begin >= range.end || !in_this_process()) return std::nullopt;
  range.head = {first, range.begin - address};
  range.tail = {first + (range.end - address), address + bytes - range.end};

  std::lock_guard lock(state_->mutex);
  Pieces& pieces = state_->pieces;
  if (!open() || pieces.size() >= kMostPieces) return std::nullopt;
  cut(pieces, range.begin);
  cut(pieces, range.end);
  fill(pieces, range.begin, range.end);
  range.since = ++now_;
  bool all_watched = true;
  for (auto at = pieces.find(range.begin); at != pieces.end() && at->first < range.end; ++at) {
    auto& [begin, piece] = *at;
    ++piece.ranges;
    if (!all_watched || (piece.watched && state_->kernel.unwritten(begin, piece.end))) continue;
    piece.written = range.since;
    all_watched = piece.watched = state_->kernel.watch(begin, piece.end);
  }
  if (all_watched) return range;
  drop(range);
  return std::nullopt;
}

bool WrittenPages::unwritten_as_far_as_known(const Range& range) {
  std::lock_guard lock(state_->mutex);
  if (range.since <= born_) return false;
  std::uintptr_t known = range.begin;
  for (auto at = state_->pieces.find(known); known < range.end; ++at) {
    if (at == state_->pieces.end() || at->first != known || at->second.written > range.since) return false;
    known = at->second.end;
  }
  return true;
}

// The kernel is asked without the lock, as that takes some time. Just before, another thread may have found a piece
// written and watched it anew, so that it looks as if it had never been written: hence the second look. The first look
// only saves asking.
bool WrittenPages::unwritten(const Range& range) {
  return in_this_process() && unwritten_as_far_as_known(range) && state_->kernel.unwritten(range.begin, range.end) &&
         unwritten_as_far_as_known(range);
}

// Call with the lock held.
void WrittenPages::drop(const Range& range) {
  Pieces& pieces = state_->pieces;
  for (auto at = pieces.find(range.begin); at != pieces.end() && at->first < range.end;) {
    if (--at->second.ranges > 0) {
      ++at;
      continue;
    }
    if (at->second.watched) state_->kernel.unwatch(at->first, at->second.end);
    at = pieces.erase(at);
  }
}

void WrittenPages::forget(const Range& range) {
  if (!in_this_process()) return;
  std::lock_guard lock(state_->mutex);
  if (range.since > born_) drop(range);
}

}  // namespace castscope::enforce
