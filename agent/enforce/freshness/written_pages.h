// Whether memory was written since a copy of it was made, as the page tables tell. No torch header here.
//
// The kernel protects the pages against writing. At the first write to each page it lifts the protection by itself and
// goes on (userfaultfd with UFFD_FEATURE_WP_ASYNC, Linux 6.7): no event, no signal, and nothing that the job calls
// fails or waits. The ioctl PAGEMAP_SCAN tells which pages are no longer protected. See Documentation/admin-guide/mm/
// {userfaultfd,pagemap}.rst of Linux and pagemap_scan_*() in its fs/proc/task_mmu.c.
//
//   range = watch(weight)     first,
//   copy(weight)              then the reading: a write meanwhile counts as written
//   unwritten(range)          and then, as often as one likes
//
// Seen are writes by any thread, by the kernel (read(2) and the like) and by other processes (process_vm_writev), and
// memory that was dropped (MADV_DONTNEED) or mapped anew at the same address. Not seen are writes that reach memory
// past the page tables: by a device or a system call that took hold of the pages before watch() and writes to them
// afterwards (pages pinned for CUDA, RDMA or io_uring, an O_DIRECT read under way). The kernel has no way to ask for
// such pins. Pages count as written, though they are not, after mlock(2), MADV_POPULATE_WRITE or mremap(2).
//
// The cost for the job: a first write to each page costs 1 µs more; a huge page is mapped in small ones once it is
// written, or when only a part of it is watched; a range may add two entries to /proc/self/maps; the job's own
// userfaultfd cannot have watched memory; and three descriptors stay open, with high numbers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace castscope::enforce {

// Thread-safe.
class WrittenPages {
 public:
  // Each piece may cost the process two entries of its map, of which Linux allows 65,530 by default.
  static constexpr std::size_t kMostPieces = 1 << 12;

  // The whole pages of some memory, and the rest of it.
  struct Range {
    std::uintptr_t begin = 0, end = 0;
    std::uint64_t since = 0;                // number of the watch that it began with
    std::span<const std::byte> head, tail;  // not watched: a sum is made of these
  };

  WrittenPages();
  ~WrittenPages();
  WrittenPages(const WrittenPages&) = delete;
  WrittenPages& operator=(const WrittenPages&) = delete;

  // Tested once in each process, on a page of our own. Where it does not work (an old kernel, a container that refuses
  // userfaultfd or hides /proc, no descriptor left) everything else does nothing and costs nothing.
  bool works();

  // Returns nothing when writes to its pages cannot be told: not private memory of this process without a file behind
  // (others would write to it elsewhere), huge pages of hugetlbfs, the job's own userfaultfd, less than a page. Then
  // all of it has to be summed. Ranges may overlap in any way. May throw std::bad_alloc.
  std::optional<Range> watch(const void* memory, std::size_t bytes);

  // True only when no page of the range was written since watch(). False for a range of another process (before a
  // fork). The range must not have been forgotten; its memory may have been unmapped, and the answer means nothing
  // then.
  bool unwritten(const Range& range);

  // Call once for each range, whatever became of its memory.
  void forget(const Range& range);

  // Call in a forked child, in its only thread: the ranges are the parent's. Without this call everything counts as
  // written there.
  void child_begins();

 private:
  struct State;
  bool in_this_process() const;
  bool open();
  bool unwritten_as_far_as_known(const Range& range);
  void drop(const Range& range);

  std::atomic<bool>* const here_;      // true; false in a forked child, whose page is wiped; null: no such pages exist
  State* state_;                       // replaced in a forked child: the thread that held its lock may not exist there
  std::atomic<std::uint64_t> now_{0};  // counts watches
  std::uint64_t born_ = 0;             // value of `now_` when this process began
};

}  // namespace castscope::enforce
