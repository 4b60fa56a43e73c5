// What one thread carries: its lane, its tables from call to counter, its open regions. Reached through one
// thread-local pointer that the preload library owns. Only its own thread touches it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/lanes/lane_writer.h"
#include "agent/memory/own_memory.h"
#include "agent/observe/python_api.h"
#include "agent/observe/python_stack.h"
#include "agent/observe/region_opener.h"
#include "agent/operators/deep.h"

namespace castscope::enforce {
class OperatorPlan;
}
namespace castscope::script {
struct Region;
struct Running;
}  // namespace castscope::script

namespace castscope::observe {

// One row of the table from what a call looks like to the counter it goes to. All fields before `counter` are the key,
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

// Native call sites by return address: where the caller's own return address stands, for helpers that several
// operators share.
struct ReturnAddressEntry {
  std::uint64_t address = 0;
  std::int64_t outer_offset = 0;                // from the hook's CFA; 0 = the address alone names the call site
  const enforce::OperatorPlan* plan = nullptr;  // where a policy that is enforced wants other casts from here
};

// Where a region was entered. The frames are for a forked child, which names the place anew; their code is pinned.
struct RegionStack {
  std::uint32_t definition = 0;
  bool truncated = false;
  RegionOpener opener;
  memory::OwnVector<RawFrame> frames;
  bool in_trace = false;  // Dynamo follows the code that enters it
  bool stands = false;    // castscope.amp enters it, and keeps it open over steps
};
// So many frames are kept in one thread. A region entered elsewhere has no place in a forked child.
inline constexpr std::size_t kMostRegionFrames = 1u << 14;

struct OpenRegion {
  std::uint32_t stack = 0;   // definition: where it was entered
  std::uint32_t serial = 0;  // of this process
  std::uint32_t definition = 0;
  std::uint8_t device = 0;
  bool announced = false;             // its enter event was written
  bool enabled = false;               // when it was entered: counted in Recording::enabled_regions
  std::uint8_t flags = 0;             // of its events: kFlagInherited
  std::uint64_t stack_hash = 0;       // in region_stacks
  lanes::RegionDefinition as_told{};  // when it has a definition
  bool in_trace = false;              // Dynamo follows the code that entered it
  bool stands = false;                // castscope.amp keeps it open over steps
  std::uint8_t asked = 0;             // lanes::kRegion… that its definition gets
  bool cache_off = false;             // it is one of Recording::cache_off_regions
  bool was_on = false;                // autocast for its device, before it was entered
  bool entered_again = false;         // its object was, within it
  const void* object = nullptr;       // the torch.autocast that was entered, only good for comparing
  // Frames, only good for comparing with those that run.
  const void* opener = nullptr;  // in which it was entered
  const void* owner = nullptr;   // as long as which it is meant to be open, where that may be suspended; else nullptr
  // Operators that autocast cast in deep steps while the owner was suspended.
  struct {
    std::uint64_t times = 0;
    std::uint32_t stack = 0;  // of the first
    std::string_view op;      // its name, which lasts
  } others;
};

// A region of a script that the interpreter is in: script_regions.h.
struct OpenScriptRegion {
  const void* object = nullptr;                    // the interpreter's own, by which it is known again
  std::uint32_t serial = 0;                        // as of OpenRegion
  std::uint32_t definition = 0;                    // 0: its place is not known yet, its enter event not written
  std::shared_ptr<const script::Region> expected;  // where an exception leaves those within it
};

// Open addressing, power of two. Small ones are laid out anew, four times as large, when a quarter full: a thread that
// casts little costs the job little, and a lookup seldom reads a second row. Large ones are grown at 5/8 full. Rows are
// only removed when it is laid out anew.
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
  // Takes out the rows that are `gone`, and makes room where that did not.
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

// Beyond this many rows in one thread the overflow counter takes what is new.
inline constexpr std::uint32_t kMaxRows = 500'000;

// What _to_copy is doing: conversion.h.
struct Conversion {
  const void* source = nullptr;  // TensorImpl; nullptr = nothing
  const void* frame = nullptr;   // innermost Python frame
  std::uint8_t to = 0;
  bool plain = false;
};

// The cast that the package castscope has announced, for annotations.h: its texts last as long as the announcement.
struct Annotated {
  const char* function = "";
  const char* argument = "";
  const void* source = nullptr;  // TensorImpl; nullptr = nothing
  lanes::Counter* counter = nullptr;
  std::uint32_t site = 0;
  std::uint8_t to = 0;
};

// A fact as it was met: facts.h.
struct FactEntry {
  std::uint32_t id = 0;  // definition; 0 = it is left out
  lanes::Counter* counter = nullptr;
};

struct ThreadState : memory::InOwnMemory {
  explicit ThreadState(lanes::SegmentWriter& segment, lanes::Lane& lane) : lane(segment, lane) {}

  lanes::LaneWriter lane;
  const PyThread* python_thread = nullptr;  // lasting_thread of this thread
  const void* autograd = nullptr;           // this thread's c10::AutogradState: grad mode, inference mode
  const script::Running* script = nullptr;  // TorchScript's interpreter, where it runs in this thread
  std::uint32_t script_runs = 0;            // of its outermost one in this thread, so far
  std::uint32_t gpu_origin = 0;             // string: the compiled region that it runs
  std::uint64_t gpu_work = 0;               // ticket of the innermost work that is timed: gpu/gpu.h
  std::uint64_t gpu_cast = 0;               // of the cast whose launches are timed by events: gpu/launch_calls.h
  std::uint32_t compiled_regions = 0;       // that run in this thread, whose graphs tell what they cast
  // the present call
  bool in_cached_cast = false;
  bool converted = false;  // _to_copy ran inside it
  Conversion conversion;
  bool ignoring = false;            // our own calls into PyTorch or Python
  const void* to_caller = nullptr;  // return address of the outermost at::_ops::to_*::call
  bool in_copy_kernel = false;      // _to_copy was called boxed: by torch.ops, or a graph
  // regions
  bool region_known = false;  // `region` is in force for region_device
  bool region_asked = false;  // … and autocast has asked for it, not only a conversion that is none of its own
  bool cache_enabled = true;
  std::uint8_t region_device = 0;
  std::uint8_t region_dtype = 0;     // what autocast casts to there
  std::uint8_t entering_device = 0;  // of the last set_autocast_enabled
  bool was_on = false;               // autocast for that device, before it
  std::uint32_t region = 0;          // definition of the region in force for region_device
  std::uint32_t region_serial = 0;
  std::uint32_t raw_stack = 0;  // where autocast was last switched without a context manager
  std::uint64_t raw_stack_hash = 0;
  std::array<std::int8_t, 32> enabled_by_raw{};  // per device type: 1 on, 0 off, as the setters said
  std::uint32_t switched = 0;                    // device types that this thread itself switched: a bit each
  memory::OwnVector<OpenRegion> open;
  std::uint32_t entered_in = 0;  // Steps::Era of the outermost
  // tables
  std::array<ReturnAddressEntry, 256> return_addresses{};
  static constexpr std::uint32_t kFirstSites = 64, kFirstPasses = 32;
  CallTable<SiteEntry> sites{kFirstSites};
  std::uint32_t renames_seen = 0;  // ModuleNames::renames, as of when `sites` was last cleared of them
  CallTable<PassEntry> passes{kFirstPasses};
  memory::OwnMap<std::uint64_t, RegionStack> region_stacks;  // by stack hash
  std::size_t region_frames = 0;                             // kept in them
  memory::OwnMap<std::uint32_t, lanes::Counter*> counters;   // site, operator use, … → its counter in this lane
  memory::OwnMap<std::uint64_t, FactEntry> facts;            // by a hash of all that tells one from another
  // errors.h
  std::string last_error;  // text of the last native one
  struct ErrorsAt {
    std::uint32_t known = 0;
    std::array<std::size_t, 4> texts{};  // their hashes
  };
  memory::OwnMap<std::uint64_t, ErrorsAt> errors;  // by stack hash
  std::unique_ptr<operators::ThreadOperators, operators::DeleteThreadOperators> operators;
  // of scripts, annotations and regions that were left: behind what each cast touches
  memory::OwnVector<OpenScriptRegion> script_open;
  std::uint32_t script_stay = 0;  // serial of the script's last outermost region in this run
  memory::OwnMap<std::uint64_t, std::uint32_t> script_regions;  // by the code's and what is around: definitions
  memory::OwnMap<std::uint32_t, std::shared_ptr<const script::Region>> script_sites;  // sites of casts in them
  Annotated annotated;
  OpenRegion restoring;  // was left, and sets autocast to what it remembers; looked at where it was entered again
};

}  // namespace castscope::observe
