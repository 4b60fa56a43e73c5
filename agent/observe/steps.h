// Where a training step ends: with the last optimizer step (taken or skipped) before the next outermost region. Where
// there is no optimizer, with the region itself: in a process that has none when the region is entered, and for a
// region entered with grad mode off (evaluation). castscope.step() overrides all of that from its first call on.
//
// An optimizer step is seen by the record_function range that torch.optim puts around it, or by GradScaler's operators;
// one that torch.compile compiled has no range: it is told by weights that were written to (weight_versions.h).
//
// So regions entered with grad mode on belong together until an optimizer steps: gradient accumulation, a loss in a
// region of its own. A single region without grad mode that follows an optimizer step (a teacher's pass) belongs to the
// training region after it. Regions that are entered while backward runs (reentrant checkpointing) end nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "agent/lanes/format.h"
#include "agent/observe/python_api.h"

namespace castscope::observe {

class Steps {
 public:
  std::uint32_t current() const { return current_.load(std::memory_order_relaxed); }

  // A thread enters its outermost region; GIL held. Returns true, and the reason, when a new step begins here.
  bool outermost_enter(const PythonApi& api, bool grad_mode, bool in_backward, bool weights_changed,
                       lanes::StepReason& reason);
  bool any_open() const { return open_.load(std::memory_order_relaxed) > 0; }  // in any thread
  void outermost_exit() { open_.fetch_sub(1, std::memory_order_relaxed); }
  void optimizer_stepped() {
    has_optimizer_.store(true, std::memory_order_relaxed);
    stepped_.store(true, std::memory_order_relaxed);
  }
  void explicit_step();

 private:
  struct OptimizerClass {
    PyObject* type;
    std::uint32_t version;
    std::ptrdiff_t children;
  };
  bool optimizer_exists(const PythonApi& api);
  bool any_hooked(const PythonApi& api, PyObject* optimizer_class, int depth);
  bool still_unused() const;

  std::atomic<std::uint32_t> current_{0};
  std::atomic<std::int32_t> open_{0};  // outermost regions open in all threads
  std::atomic<bool> region_seen_{false};
  std::atomic<bool> stepped_{false};
  std::atomic<bool> graph_pending_{false};    // a region since the step began may have made a graph for an optimizer
  std::atomic<bool> weights_changed_{false};  // written to, as a region showed that ends no step by itself
  std::atomic<bool> lone_pass_{false};  // the step so far is one region without grad mode, after an optimizer step
  std::atomic<bool> has_optimizer_{false};
  std::atomic<bool> explicit_{false};
  std::vector<OptimizerClass> unused_;  // as they were when they had no instance yet; under the GIL
};

}  // namespace castscope::observe
