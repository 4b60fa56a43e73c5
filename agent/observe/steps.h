// Where a training step ends: with the last optimizer step (taken or skipped) before the next outermost region; a
// region after which no backward ran, or a job without an optimizer, ends with the region itself. castscope.step()
// overrides all of that from its first call on.
//
// A region that was followed by backward but by no optimizer step belongs to gradient accumulation: the step goes on,
// provided that the process has an optimizer at all.
#pragma once

#include <atomic>
#include <cstdint>

#include "agent/lanes/format.h"
#include "agent/observe/python_api.h"

namespace castscope::observe {

class Steps {
 public:
  std::uint32_t current() const { return current_.load(std::memory_order_relaxed); }

  // A thread enters its outermost region; GIL held. Returns the reason when a new step begins here.
  bool outermost_enter(const PythonApi& api, lanes::StepReason& reason);
  void outermost_exit() { open_.fetch_sub(1, std::memory_order_relaxed); }
  void optimizer_stepped() {
    has_optimizer_.store(true, std::memory_order_relaxed);
    stepped_.store(true, std::memory_order_relaxed);
  }
  void backward_seen() {
    if (!backward_.load(std::memory_order_relaxed)) backward_.store(true, std::memory_order_relaxed);
  }
  void explicit_step();

 private:
  bool optimizer_exists(const PythonApi& api);

  std::atomic<std::uint32_t> current_{0};
  std::atomic<std::int32_t> open_{0};  // outermost regions open in all threads
  std::atomic<bool> region_seen_{false};
  std::atomic<bool> stepped_{false};
  std::atomic<bool> backward_{false};
  std::atomic<bool> has_optimizer_{false};
  std::atomic<bool> explicit_{false};
  std::uint32_t asked_ = 0, ask_at_ = 1;  // under the GIL
};

}  // namespace castscope::observe
