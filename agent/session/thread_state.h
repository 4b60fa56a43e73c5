// The state of one thread: its lane, its tables from call to counter, its open regions. One thread-local pointer that
// the preload library owns leads to it. Only its own thread touches it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/cpython/python_api.h"
#include "agent/cpython/python_stack.h"
#include "agent/lanes/lane_writer.h"
#include "agent/memory/own_memory.h"
#include "agent/naming/region_opener.h"
#include "agent/naming/return_addresses.h"
#include "agent/session/call_table.h"

namespace castscope::script {
struct Region;
struct Running;
}  // namespace castscope::script

namespace castscope::agent {

// Where a region was entered. The frames serve a forked child, which names the place anew; their code is pinned.
struct RegionStack {
  std::uint32_t definition = 0;
  bool truncated = false;
  RegionOpener opener;
  memory::OwnVector<RawFrame> frames;
  bool in_trace = false;  // Dynamo follows the code that enters it
  bool stands = false;    // castscope.amp enters it, and keeps it open over steps
};
// The most frames that are kept in one thread. A region beyond that has no place in a forked child.
inline constexpr std::size_t kMostRegionFrames = 1u << 14;

struct OpenRegion {
  std::uint32_t stack = 0;   // definition: where it was entered
  std::uint32_t serial = 0;  // unique within this process
  std::uint32_t definition = 0;
  std::uint8_t device = 0;
  bool announced = false;             // its enter event was written
  bool enabled = false;               // when it was entered: counted in Recording::enabled_regions
  std::uint8_t flags = 0;             // flags of its events: kFlagInherited
  std::uint64_t stack_hash = 0;       // key in region_stacks
  lanes::RegionDefinition as_told{};  // set when it has a definition
  bool in_trace = false;              // Dynamo follows the code that entered it
  bool stands = false;                // castscope.amp keeps it open over steps
  std::uint8_t asked = 0;             // lanes::kRegion… that its definition gets
  bool cache_off = false;             // it is one of Recording::cache_off_regions
  bool was_on = false;                // whether autocast was on for its device before it was entered
  bool entered_again = false;         // its object was entered again within it
  const void* object = nullptr;       // the torch.autocast that was entered, only good for comparing
  // Addresses of frames, only good for comparing with those of frames that run.
  const void* opener = nullptr;  // the frame in which it was entered
  const void* owner = nullptr;   // the frame whose life it is meant to span, if that may be suspended; else nullptr
  // Operators that autocast cast in deep steps while the owner was suspended.
  struct {
    std::uint64_t times = 0;
    std::uint32_t stack = 0;  // definition: the stack of the first
    std::string_view op;      // its name, which lasts
  } others;
};

// A region of a script that the interpreter is in: script_regions.h.
struct OpenScriptRegion {
  const void* object = nullptr;                    // the interpreter's own object, which identifies the region
  std::uint32_t serial = 0;                        // as in OpenRegion
  std::uint32_t definition = 0;                    // 0: its place is not known yet, its enter event not written
  std::shared_ptr<const script::Region> expected;  // where an exception leaves the regions within it
};

// The conversion that _to_copy is making: conversion.h.
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

// A fact that this thread has met: facts.h.
struct FactEntry {
  std::uint32_t id = 0;  // definition; 0 = it is left out
  lanes::Counter* counter = nullptr;
};

// The data that a feature keeps for a thread.
struct KeptByFeature : memory::InOwnMemory {
  virtual ~KeptByFeature() = default;
};

struct ThreadState : memory::InOwnMemory {
  explicit ThreadState(lanes::SegmentWriter& segment, lanes::Lane& lane) : lane(segment, lane) {}

  lanes::LaneWriter lane;
  std::uint32_t span = 0;                   // Process::span when this thread's regions were last known
  const PyThread* python_thread = nullptr;  // lasting_thread of this thread
  const void* autograd = nullptr;           // this thread's c10::AutogradState: grad mode, inference mode
  const script::Running* script = nullptr;  // TorchScript's interpreter, where it runs in this thread
  std::uint32_t script_runs = 0;            // runs of the outermost interpreter in this thread so far
  std::uint32_t gpu_origin = 0;             // string: the compiled region that this thread runs
  std::uint64_t gpu_work = 0;               // ticket of the innermost work that is timed: gpu/gpu.h
  std::uint64_t gpu_cast = 0;               // ticket of the cast whose launches events time: gpu/launch_calls.h
  std::uint32_t compiled_regions = 0;       // how many run in this thread whose graphs' casts are known
  // the present call
  bool in_cached_cast = false;
  bool converted = false;  // _to_copy ran inside it
  Conversion conversion;
  bool ignoring = false;            // our own calls into PyTorch or Python
  const void* to_caller = nullptr;  // return address of the outermost at::_ops::to_*::call
  bool in_copy_kernel = false;      // _to_copy was called boxed: by torch.ops, or a graph
  // regions
  bool region_known = false;  // `region` is the region in force for region_device
  bool region_asked = false;  // … and autocast has asked for it, not only a conversion that is not autocast's
  bool cache_enabled = true;
  std::uint8_t region_device = 0;
  std::uint8_t region_dtype = 0;     // dtype that autocast casts to there
  std::uint8_t entering_device = 0;  // argument of the last set_autocast_enabled
  bool was_on = false;               // whether autocast was on for that device before
  std::uint32_t region = 0;          // definition of the region in force for region_device
  std::uint32_t region_serial = 0;
  std::uint32_t raw_stack = 0;  // where autocast was last switched without a context manager
  std::uint64_t raw_stack_hash = 0;
  std::array<std::int8_t, 32> enabled_by_raw{};  // per device type: 1 on, 0 off, as the setters last said
  std::uint32_t switched = 0;                    // device types that this thread itself switched: one bit each
  memory::OwnVector<OpenRegion> open;
  std::uint32_t entered_in = 0;  // Steps::Era of the outermost region
  // tables
  ReturnAddresses return_addresses{};
  static constexpr std::uint32_t kFirstSites = 64, kFirstPasses = 32;
  CallTable<SiteEntry> sites{kFirstSites};
  std::uint32_t renames_seen = 0;  // ModuleNames::renames when `sites` was last cleared of renamed ones
  CallTable<PassEntry> passes{kFirstPasses};
  memory::OwnMap<std::uint64_t, RegionStack> region_stacks;  // by stack hash
  std::size_t region_frames = 0;                             // number of frames in them
  memory::OwnMap<std::uint32_t, lanes::Counter*> counters;   // site, operator use, … → its counter in this lane
  memory::OwnMap<std::uint64_t, FactEntry> facts;            // by a hash of everything that tells facts apart
  // errors/errors.h
  std::string last_error;  // text of the last native error
  struct ErrorsAt {
    std::uint32_t known = 0;
    std::array<std::size_t, 4> texts{};  // their hashes
  };
  memory::OwnMap<std::uint64_t, ErrorsAt> errors;  // by stack hash
  std::unique_ptr<KeptByFeature> operators;        // for deep steps: made at the first operator
  // for scripts, annotations and regions that were left: placed behind the words that each cast touches
  memory::OwnVector<OpenScriptRegion> script_open;
  std::uint32_t script_stay = 0;  // serial of the script's last outermost region in this run
  memory::OwnMap<std::uint64_t, std::uint32_t> script_regions;  // by the code's region and that around it: definitions
  memory::OwnMap<std::uint32_t, std::shared_ptr<const script::Region>> script_sites;  // cast sites in scripts' regions
  Annotated annotated;
  memory::OwnSet<std::uint64_t> conversions_met;  // code that asked for a conversion while nothing was looked at
  OpenRegion restoring;  // was left, and sets autocast to what it remembers; looked at if it is entered again
};

// From here on another region may be in force.
inline void forget_region(ThreadState& t) { t.region_known = t.region_asked = false; }

}  // namespace castscope::agent
