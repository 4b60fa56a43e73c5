// The sources whose copies the autocast cache holds, as they were when they were cast. No torch header here.
//
// The cache keeps a weak reference to each source, so that no other TensorImpl gets its address until the cache is
// cleared; this table is cleared with it. Thread-safe: all threads share one cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "agent/lanes/definition_records.h"
#include "agent/memory/own_memory.h"

namespace castscope::agent {

// The state of a tensor, as far as it is looked at: version counters do not tell of all that is written to it.
struct Snapshot {
  const void* storage = nullptr;
  const void* data = nullptr;  // nullptr: its values cannot be read
  std::uint64_t checksum = 0;  // over some of its values
  std::uint32_t version = 0;
};

class KeptSources {
 public:
  // Later sources are not remembered: at most 1.2 MB.
  static constexpr std::size_t kMost = 1 << 13;

  struct Kept {
    Snapshot as_cast;
    // As it was when last looked at:
    std::uint32_t version = 0;
    std::uint32_t steps = 0;
    lanes::Staleness how{};
  };
  // May throw std::bad_alloc, and leaves the table as it was then.
  void put(const void* source, const Snapshot& as_cast);
  std::optional<Kept> find(const void* source);
  // Notes a look at the source. Returns whether every source was looked at since the last optimizer step.
  bool looked_at(const void* source, std::uint32_t version, std::uint32_t steps, lanes::Staleness how);
  void clear();
  // Returns false when there are no sources.
  bool optimizer_stepped();
  std::uint32_t steps();

 private:
  struct Row {
    const void* source = nullptr;
    std::uint64_t generation = 0;  // differs from the present one: a free row
    Kept kept;
  };
  Row* row_of(const void* source);  // where the row is or would be
  void grow();

  std::mutex mutex_;
  memory::OwnVector<Row> rows_;  // a power of two, or none; at most half of them taken
  std::size_t used_ = 0;
  std::size_t unlooked_ = 0;  // not looked at since the last optimizer step
  std::uint64_t generation_ = 1;
  std::uint32_t steps_ = 0;  // optimizer steps while there were sources
};

}  // namespace castscope::agent
