// Proves that a weight still has the values that a copy was made from. No torch header here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "agent/enforce/freshness/payoff.h"

namespace castscope::enforce {

// Facts that cost nothing to look at. Version counters do not tell of all writes: fused optimizers, .data, NumPy views
// and raw pointers raise none (docs/decisions/enforcing.md).
struct Glance {
  const void* counter = nullptr;  // identity of the version counter
  const void* data = nullptr;
  std::uint32_t version = 0;
  std::uint32_t optimizer_steps = 0;  // so far, in this process
  bool operator==(const Glance&) const = default;
};

// The proof that no byte was written. Tracked: the kernel is asked which pages were written, which takes some
// microseconds whatever the size (written_pages.h); the first write to each page costs the writer 0.7 us. Otherwise a
// sum over all bytes is made again.
class Proof {
 public:
  Proof();
  ~Proof();
  Proof(Proof&&) noexcept;
  Proof& operator=(Proof&&) noexcept;

  // Must be made before the memory is read for the copy.
  static Proof of(const void* data, std::size_t bytes, Proving);
  explicit operator bool() const { return made_; }
  bool is_tracked() const;
  // Whether the memory is the same, and unwritten since.
  bool holds(const void* data, std::size_t bytes) const;

  // Whether the memory is too small for tracking its pages to pay.
  static bool is_little(std::size_t bytes);
  static void child_begins();  // call in a forked child: no proof of the parent's holds there

 private:
  struct Watch;
  bool made_ = false;
  std::uint64_t sum_ = 0;         // over the bytes that are not tracked
  std::unique_ptr<Watch> watch_;  // nullptr: nothing is watched
};

}  // namespace castscope::enforce
