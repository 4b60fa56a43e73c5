// Decides where a training step ends: with the last optimizer step (taken or skipped) before the next outermost region.
// Where there is no optimizer, with the region itself: in a process that has none when the region is entered, and for a
// region entered with grad mode off (evaluation). castscope.step() overrides all of that from its first call on.
//
// Evaluations get numbers in the same order. Whoever reads the run tells them from training steps by what ended them
// (server/store/run/step_numbers.h).
//
// An optimizer step is seen by the record_function range that torch.optim puts around it, or by GradScaler's operators.
// It counts when the range ends: regions within it (a closure's) end nothing by themselves. An optimizer that
// torch.compile compiled has no range: its steps are told by weights that were written to (weight_versions.h), in a
// process in which Dynamo compiled something and no range was seen, or none for long though weights are written to all
// the time.
//
// So regions entered with grad mode on belong together until an optimizer steps: gradient accumulation, a loss in a
// region of its own. Regions without grad mode with which every step so far began (a teacher's pass: opening_passes.h)
// belong to the training region after them; so does a single one that is the first of a process that has an optimizer.
// Regions that are entered while backward runs (reentrant checkpointing) end nothing.
//
// The region that castscope.amp's handle keeps open is only left for each backward pass, which may come several times
// before the optimizers step, and in between. So entering it ends no step. A step begins in it where autocast is first
// asked for something after an optimizer stepped.
//
// Regions that a thread enters while another thread is in one (the replicas of a model) end no step either. A region
// that was entered before the last optimizer step does not prevent one: a thread may evaluate in one and the same
// region for ever.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "agent/cpython/python_api.h"
#include "agent/lanes/format.h"
#include "agent/session/opening_passes.h"

namespace castscope::agent {

class Steps {
 public:
  std::uint32_t current() const { return current_.load(std::memory_order_relaxed); }

  struct Entry {
    bool grad_mode, in_backward;
    bool in_optimizer;     // within the range of an optimizer step of this thread
    bool weights_changed;  // by any thread, since its last entry
    bool stands = false;   // castscope.amp keeps the region open over steps
    // Where it is entered, as the number of a stack; 0 = not known.
    std::uint32_t place = 0;
  };
  // The number of optimizer steps before the outermost region was entered.
  using Era = std::uint32_t;
  struct Entered {
    Era era;  // to be given to outermost_exit
    bool step_begins;
    lanes::StepReason reason;  // if a step begins
  };
  // Called when a thread enters its outermost region.
  Entered outermost_enter(const PythonApi& api, const Entry& entry);
  void outermost_exit(Era era);  // … and when it leaves that region, or ends within it
  // Autocast is asked for something in a standing region that was entered in `era`: the region counts as entered now.
  Entered asked_in_standing_region(Era era);
  // Whether a standing region was entered in this process. There GradScaler unscales at the end of each backward pass,
  // and not in an optimizer's step.
  bool any_standing() const { return standing_.load(std::memory_order_relaxed); }
  // Whether castscope.step() was called: nothing else begins a step then.
  bool are_explicit() const { return explicit_.load(std::memory_order_relaxed); }
  // Whether some thread is in a region that it entered since the last optimizer step.
  bool any_open() const { return static_cast<std::uint32_t>(open_.load(std::memory_order_relaxed)) > 0; }
  void optimizer_stepped();
  // Whether the present step has its optimizer behind it: the next outermost region begins another one.
  bool is_over() const { return stepped_.load(std::memory_order_relaxed); }
  // The training steps so far: those in which an optimizer stepped, or which castscope.step() ended.
  std::uint32_t trained() const { return trained_.load(std::memory_order_relaxed); }
  // Called when the process ends: whether an optimizer without a range stepped after the last region. Such an optimizer
  // must have been seen before, since Python cannot be asked any more.
  bool ended_with_unseen_step(bool weights_changed) const;
  // Called when an optimizer ran within its range.
  void optimizer_ran() {
    silent_.store(0, std::memory_order_relaxed);
    ranges_seen_.store(true, std::memory_order_relaxed);
    optimizer_stepped();
  }
  void explicit_step();
  // Whether it is known that there is an optimizer, so that nobody needs to ask any more.
  bool knows_optimizer() const { return has_optimizer_.load(std::memory_order_relaxed); }

 private:
  // After so many regions before which weights were written to without a range, the optimizer is taken to have no range
  // any more. Eager code that writes weights by itself does it a few times a step (sharpness-aware minimization:
  // twice).
  static constexpr std::uint32_t kSilent = 16;

  struct OptimizerClass {
    PyObject* type;
    std::uint32_t version;
    std::ptrdiff_t children;
  };
  bool begins(const PythonApi& api, const Entry& entry, bool alone, lanes::StepReason& reason);
  bool optimizer_exists(const PythonApi& api);
  bool any_hooked(const HeldGil& gil, const PythonApi& api, PyObject* optimizer_class, int depth);
  bool still_unused(const HeldGil& gil) const;
  bool stepped_unseen(const PythonApi& api, bool written);

  std::atomic<std::uint32_t> current_{0}, trained_{0};
  std::atomic<std::uint64_t> open_{0};  // the era in the upper half; the outermost regions of it that are open
  std::atomic<bool> region_seen_{false};
  std::atomic<bool> stepped_{false};
  std::atomic<bool> graph_pending_{false};    // a region since the step began may have made a graph for an optimizer
  std::atomic<bool> weights_changed_{false};  // written to, as seen at a region that ends no step by itself
  std::atomic<bool> opened_{false};           // the step so far is regions without grad mode with which steps begin
  std::atomic<bool> has_optimizer_{false};
  std::atomic<bool> ranges_seen_{false};
  std::atomic<bool> rangeless_stepped_{false};  // an optimizer without a range did, at least once
  std::atomic<std::uint32_t> silent_{0};        // regions entered after weights were written to, since the last range
  std::atomic<bool> explicit_{false};
  std::atomic<bool> standing_{false};
  OpeningPasses passes_;
  std::vector<OptimizerClass> unused_;  // classes that had no instance yet when last asked; the GIL is its lock
};

}  // namespace castscope::agent
