// A thread's tables that lead from the facts of a call to the counter that counts it.
#pragma once

#include <cstdint>

#include "agent/cpython/python_stack.h"
#include "agent/lanes/format.h"
#include "agent/memory/own_memory.h"

namespace castscope::agent {

struct CallKey {
  std::uint64_t stack, call_site, packed;
  const void* module;
  std::uint32_t region;

  std::uint64_t hash() const {
    std::uint64_t h = mix(stack, call_site, packed);
    return mix(h, reinterpret_cast<std::uint64_t>(module), region);
  }
};

// One row of the table that leads from the facts of a call to its counter. All fields before `counter` are the key,
// compared in full.
struct alignas(64) SiteEntry {
  std::uint64_t stack;             // hash of the Python stack
  std::uint64_t call_site;         // CallSites key, or the caller of `to` and the backward node for other causes
  std::uint64_t packed;            // dtypes, device, standing, phase, why, cause: SiteKey::pack
  const void* module;              // self of the innermost module
  std::uint32_t region;            // definition
  std::uint32_t site;              // definition; 0 = the lane's overflow counter
  const PyObject* module_weakref;  // given back with the row; nullptr without a module
  lanes::Counter* counter;         // nullptr = free row
};

struct PassEntry {
  std::uint64_t call_site;
  std::uint32_t region;
  std::uint32_t traced;
  lanes::Counter* counter;  // nullptr = free row
};

inline std::uint64_t hash_of_site(const SiteEntry& e) {
  return CallKey{e.stack, e.call_site, e.packed, e.module, e.region}.hash();
}
inline std::uint64_t pass_hash(std::uint64_t call_site, std::uint32_t region, std::uint32_t traced) {
  return (call_site ^ (std::uint64_t{region} << 1 | traced) * 0xff51afd7ed558ccdu) * 0x9e3779b97f4a7c15u >> 20;
}
// Open addressing, power of two. A small table is laid out anew, four times as large, when a quarter full: a thread
// that casts little costs the job little, and a lookup seldom reads a second row. A large table is grown at 5/8 full.
// Rows are only removed when the table is laid out anew.
template <typename Row>
class CallTable {
 public:
  explicit CallTable(std::uint32_t capacity) : rows_(capacity), mask_(capacity - 1) {}
  Row* begin(std::uint64_t hash) { return &rows_[hash & mask_]; }
  Row* next(Row* row) { return row == &rows_[mask_] ? &rows_[0] : row + 1; }
  bool crowded() const { return (used_ + 1) * 8 > rows_.size() * (small() ? 2 : 5); }
  void count_row() { ++used_; }
  std::uint32_t used() const { return used_; }
  std::size_t capacity() const { return rows_.size(); }
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const Row& row : rows_)
      if (row.counter != nullptr) visit(row);
  }
  // Removes the rows that are `gone`, and grows the table where that made no room.
  template <typename HashOf, typename Gone>
  void grow(HashOf hash_of, Gone gone) {
    for (Row& row : rows_) {
      if (row.counter == nullptr || !gone(row)) continue;
      row.counter = nullptr;
      --used_;
    }
    const std::size_t larger = used_ * (small() ? 8 : 4) > rows_.size() ? (small() ? 4 : 2) : 1;
    memory::OwnVector<Row> old(rows_.size() * larger);
    old.swap(rows_);
    mask_ = rows_.size() - 1;
    for (const Row& row : old) {
      if (row.counter == nullptr) continue;
      Row* to = begin(hash_of(row));
      while (to->counter != nullptr) to = next(to);
      *to = row;
    }
  }

 private:
  bool small() const { return rows_.size() < 1024; }

  memory::OwnVector<Row> rows_;
  std::uint64_t mask_;
  std::uint32_t used_ = 0;
};

// Beyond this many rows in one thread, the overflow counter counts new sites.
inline constexpr std::uint32_t kMaxRows = 500'000;

}  // namespace castscope::agent
