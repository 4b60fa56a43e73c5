// The calls by which the rooms below tell, and ask, the features above: operators, compile, enforce, gpu. It is one
// table, which start/features.cc fills once, before the first hook is live. Until it is filled nobody listens: each
// entry does nothing, and answers that there is nothing.
//
// No call on a cache hit or a pass-through goes through here. For those, a flag (torch/attention.h) tells that some
// feature wants to hear of them, or a template parameter (casts/cached_cast.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace castscope::enforce {
class OperatorPlan;
}

namespace castscope::agent {
class Definitions;
class HeldGil;
class MayWait;
struct Recording;
struct SeenInTrace;
struct ThreadState;
}  // namespace castscope::agent

namespace castscope {

// The contents of a cache of castscope's.
struct CacheContents {
  std::uint64_t entries = 0, bytes = 0;
};

// Work that is launched on a GPU while it is timed; with `ticket` 0 it is not timed.
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
  using ThreadState = agent::ThreadState;

  // --- the process and its threads
  // Python's stack can be read from here on; Python's version is not known.
  void (*python_is_known)(const agent::HeldGil& gil) = [](const agent::HeldGil&) {};
  void (*python_is_strange)(agent::Definitions& d) = [](agent::Definitions&) {};
  // A recording is being made, and asks for the attributes of the process; then, the recording has begun.
  void (*process_is_described)(agent::Recording& r) = [](agent::Recording&) {};
  void (*recording_begins)(agent::Definitions& d) = [](agent::Definitions&) {};
  void (*span_begins)(agent::Recording& r) = [](agent::Recording&) {};
  // Called in a forked child, in the thread that forked: it goes on where `before` was.
  void (*thread_goes_on)(const agent::MayWait& may_wait, ThreadState& t,
                         const ThreadState& before) = [](const agent::MayWait&, ThreadState&, const ThreadState&) {};
  void (*thread_ends)(ThreadState& t) = [](ThreadState&) {};

  // --- regions and steps
  // A thread enters its outermost region; `renamed`: modules were added or have other names since it last did.
  void (*outermost_region_is_entered)(bool renamed) = [](bool) {};
  void (*step_begins)() = [] {};
  // A thread is about to enter its outermost region, and something is asked for on the control page: whether castscope
  // has let go. An optimizer has made a step, within a region.
  bool (*control_asks)(ThreadState& t) = [](ThreadState&) { return false; };
  void (*control_asks_within)(ThreadState& t) = [](ThreadState&) {};
  // The thread is in its outermost region now, or castscope.step() was called.
  void (*outermost_region_began)(ThreadState& t, bool new_step) = [](ThreadState&, bool) {};
  // For a region that stays open over steps: a step has begun; and: the next step begins with what runs from here on.
  void (*step_has_begun)() = [] {};
  void (*step_is_next)(ThreadState& t) = [](ThreadState&) {};
  // An optimizer made its step: called in any thread; in a thread that is recorded; and outside of all regions.
  void (*optimizer_stepped)() = [] {};
  void (*recorded_optimizer_stepped)(agent::Recording& r) = [](agent::Recording&) {};
  void (*optimizer_stepped_outside)(ThreadState& t) = [](ThreadState&) {};

  // --- casts
  // While every operator is looked at: `source` (a TensorImpl*) was cast to `to` (a c10::ScalarType) at this site;
  // cached_cast handed it on as it is.
  void (*cast_was_made)(ThreadState& t, const void* source, std::uint8_t to,
                        std::uint32_t site) = [](ThreadState&, const void*, std::uint8_t, std::uint32_t) {};
  void (*pass_was_made)(ThreadState& t, const void* source, std::uint32_t site) = [](ThreadState&, const void*,
                                                                                     std::uint32_t) {};
  // The first sight of a site whose values alone show what is wrong with it, whether or not operators are looked at.
  void (*first_cast_was_made)(ThreadState& t, const void* source, std::uint8_t to,
                              std::uint32_t site) = [](ThreadState&, const void*, std::uint8_t, std::uint32_t) {};
  // This thread is about to cast, or to pass on, at a place that it meets for the first time: its stack and module.
  void (*code_is_met)(ThreadState& t, std::uint64_t stack, const void* module) = [](ThreadState&, std::uint64_t,
                                                                                    const void*) {};
  // A line of code asks for a conversion; its operator has not begun.
  void (*conversion_is_asked)(ThreadState& t) = [](ThreadState&) {};
  // Called around a cast while work on a GPU is timed.
  TimedCast (*timed_cast_begins)(ThreadState& t) = [](ThreadState&) { return TimedCast{}; };
  void (*timed_cast_ends)(ThreadState& t, const TimedCast& cast,
                          std::uint32_t site) = [](ThreadState&, const TimedCast&, std::uint32_t) {};
  // PyTorch's cache was cleared: returns what castscope's own cache still holds.
  CacheContents (*cache_was_cleared)() = [] { return CacheContents{}; };

  // --- code that is traced or compiled
  void (*cast_was_traced)(const agent::MayWait& may_wait, ThreadState& t, const agent::SeenInTrace& seen) =
      [](const agent::MayWait&, ThreadState&, const agent::SeenInTrace&) {};
  // While Dynamo follows code: the definition of the stack there, 0 where it is not known.
  std::uint32_t (*followed_stack)(const agent::MayWait& may_wait) = [](const agent::MayWait&) {
    return std::uint32_t{0};
  };
  // Whether the thread runs a graph whose casts are known.
  bool (*runs_known_graph)(const agent::MayWait& may_wait,
                           const ThreadState& t) = [](const agent::MayWait&, const ThreadState&) { return false; };
  // The job begins to capture a CUDA graph in this thread; it ends the capture.
  void (*capture_begins)(ThreadState& t) = [](ThreadState&) {};
  void (*capture_ends)() = [] {};

  // --- a policy that is enforced
  // The policy's plan for the operator whose PyTorch kernel called cached_cast from here; nullptr: as PyTorch asks.
  const enforce::OperatorPlan* (*plan_of_call)(const void* return_address) =
      [](const void*) -> const enforce::OperatorPlan* { return nullptr; };
  // The argument of a kernel of castscope's whose call site this number is.
  std::optional<KernelArgument> (*kernel_argument)(std::uint64_t call_site) =
      [](std::uint64_t) -> std::optional<KernelArgument> { return std::nullopt; };
};

extern Features g_features;

}  // namespace castscope
