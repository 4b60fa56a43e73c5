// What the features above – operators, compile, enforce, gpu – are told of by the rooms below, and asked by them. One
// table, which start/features.cc fills once, before the first hook is live. As long as it is not filled nobody
// listens: each entry does nothing, and answers that there is nothing.
//
// No call on a cache hit or a pass-through goes through here: those are told by a flag (torch/attention.h) that
// somebody wants to hear of them, or by a template parameter (casts/cached_cast.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace castscope::enforce {
class OperatorPlan;
}

namespace castscope::observe {
class Definitions;
struct Recording;
struct SeenInTrace;
struct ThreadState;
}  // namespace castscope::observe

namespace castscope {

// What a cache of castscope's holds.
struct Held {
  std::uint64_t entries = 0, bytes = 0;
};

// Work that is launched on a GPU while it is timed; `ticket` 0: it is not.
struct TimedWork {
  std::uint64_t ticket = 0, outer = 0;
  bool told_cupti = false;
  explicit operator bool() const { return ticket != 0; }
};
struct TimedCast {
  TimedWork work;
  std::uint64_t outer = 0;  // ticket of the cast around it
};

// The argument for which a kernel of castscope's casts.
struct KernelArgument {
  std::string op;
  std::uint32_t position = 0;  // in the operator's schema
};

struct Features {
  using ThreadState = observe::ThreadState;

  // --- the process and its threads
  // Its stack can be read from here on; it is of a version that is not known.
  void (*python_is_known)() = [] {};
  void (*python_is_strange)(observe::Definitions& d) = [](observe::Definitions&) {};
  // A recording is being made: what the report says of the process is asked for; it has begun.
  void (*process_is_described)(observe::Recording& r) = [](observe::Recording&) {};
  void (*recording_begins)(observe::Definitions& d) = [](observe::Definitions&) {};
  // In a forked child, the thread that forked: where `before` was.
  void (*thread_goes_on)(ThreadState& t, const ThreadState& before) = [](ThreadState&, const ThreadState&) {};
  void (*thread_ends)(ThreadState& t) = [](ThreadState&) {};

  // --- regions and steps
  // A thread enters its outermost region; `renamed`: modules were added or have other names since it last did.
  void (*outermost_region_is_entered)(bool renamed) = [](bool) {};
  void (*step_begins)() = [] {};
  // The thread is in its outermost region now, or castscope.step() was called.
  void (*outermost_region_began)(ThreadState& t, bool new_step) = [](ThreadState&, bool) {};
  // In a region that stays open over steps: a step has begun; one that is yet to come begins with what runs from here.
  void (*step_has_begun)() = [] {};
  void (*step_is_next)(ThreadState& t) = [](ThreadState&) {};
  // An optimizer made its step: in any thread; where that is recorded; and outside of all regions.
  void (*optimizer_stepped)() = [] {};
  void (*recorded_optimizer_stepped)(observe::Recording& r) = [](observe::Recording&) {};
  void (*optimizer_stepped_outside)(ThreadState& t) = [](ThreadState&) {};

  // --- casts
  // While every operator is looked at: `source` (a TensorImpl*) was cast to `to` (a c10::ScalarType) at this site;
  // cached_cast handed it on as it is.
  void (*cast_was_made)(ThreadState& t, const void* source, std::uint8_t to,
                        std::uint32_t site) = [](ThreadState&, const void*, std::uint8_t, std::uint32_t) {};
  void (*pass_was_made)(ThreadState& t, const void* source, std::uint32_t site) = [](ThreadState&, const void*,
                                                                                     std::uint32_t) {};
  // The first sight of a site whose values alone say what is wrong with it, whatever is looked at.
  void (*first_cast_was_made)(ThreadState& t, const void* source, std::uint8_t to,
                              std::uint32_t site) = [](ThreadState&, const void*, std::uint8_t, std::uint32_t) {};
  // Around a cast while work on a GPU is timed.
  TimedCast (*timed_cast_begins)(ThreadState& t) = [](ThreadState&) { return TimedCast{}; };
  void (*timed_cast_ends)(ThreadState& t, const TimedCast& cast,
                          std::uint32_t site) = [](ThreadState&, const TimedCast&, std::uint32_t) {};
  // PyTorch's cache was cleared: what castscope's own holds still.
  Held (*cache_was_cleared)() = [] { return Held{}; };

  // --- code that is traced or compiled
  void (*cast_was_traced)(ThreadState& t, const observe::SeenInTrace& seen) = [](ThreadState&,
                                                                                 const observe::SeenInTrace&) {};
  // While Dynamo follows code: the definition of the stack there, 0 where it is not known. Takes the GIL.
  std::uint32_t (*followed_stack)() = [] { return std::uint32_t{0}; };
  // Whether the thread runs a graph of which is known what it casts. May take the GIL.
  bool (*runs_known_graph)(const ThreadState& t) = [](const ThreadState&) { return false; };
  // The job begins to capture a CUDA graph in this thread, and ends it.
  void (*capture_begins)(ThreadState& t) = [](ThreadState&) {};
  void (*capture_ends)() = [] {};

  // --- a policy that is enforced
  // What it wants of the operator whose PyTorch kernel called cached_cast from here; nullptr: what PyTorch asks for.
  const enforce::OperatorPlan* (*plan_of_call)(const void* return_address) =
      [](const void*) -> const enforce::OperatorPlan* { return nullptr; };
  // Of a kernel of castscope's for which this stands as the call site.
  std::optional<KernelArgument> (*kernel_argument)(std::uint64_t call_site) =
      [](std::uint64_t) -> std::optional<KernelArgument> { return std::nullopt; };
};

extern Features g_features;

}  // namespace castscope
