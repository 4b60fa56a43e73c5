// Autocast's state functions: each runs PyTorch's own and then notes what was set.
#include <c10/core/DeviceType.h>

#include <exception>

#include "agent/lanes/control.h"
#include "agent/regions/gap.h"
#include "agent/regions/hooks.h"
#include "agent/regions/region_steps.h"
#include "agent/regions/regions.h"
#include "agent/session/marks.h"
#include "agent/torch/originals.h"
#include "agent/wiring/features.h"

namespace castscope::agent {
namespace {

// Noting may need memory; without it castscope steps aside, and the job never hears of it. PyTorch's setters hold no
// lock when they have returned.
template <typename Note>
void note(Note what) {
  try {
    what(MayWait::no_lock_held());
  } catch (const std::exception& e) {
    step_aside_without_memory(e);
  }
}

void set_autocast_enabled(c10::DeviceType device, bool enabled) {
  ThreadState* t = thread_state();  // made before the call: it begins with the present settings
  if (t != nullptr) know_regions(*t);
  original<void (*)(c10::DeviceType, bool)>(CASTSCOPE_HOOK_SET_AUTOCAST_ENABLED)(device, enabled);
  if (t != nullptr)
    note([&](const MayWait& may_wait) {
      region_device_switched(may_wait, *t, static_cast<std::uint8_t>(device), enabled);
    });
}

void set_autocast_cache_enabled(bool enabled) {
  original<void (*)(bool)>(CASTSCOPE_HOOK_SET_AUTOCAST_CACHE_ENABLED)(enabled);
  ThreadState* t = thread_state();
  if (t == nullptr) return;
  know_regions(*t);
  note([&](const MayWait&) { region_cache_switched(*t, enabled); });
}

// Between regions castscope may be asked to let go, or for deep steps.
bool is_asked(const ThreadState& t) {
  const castscope_control& page = **g_process.preload->control;
  if (!t.open.empty() || !t.script_open.empty()) return false;
  return castscope_wants_away(&page) ||
         __atomic_load_n(&page.deep_asked, __ATOMIC_RELAXED) != __atomic_load_n(&page.deep_begun, __ATOMIC_RELAXED);
}

int increment_nesting() {
  ThreadState* known = thread_slot();
  if (known != nullptr) know_regions(*known);
  if (known != nullptr && is_asked(*known) && g_features.control_asks(*known)) [[unlikely]]
    return original<int (*)()>(CASTSCOPE_HOOK_INCREMENT_NESTING)();
  const int nesting = original<int (*)()>(CASTSCOPE_HOOK_INCREMENT_NESTING)();
  if (ThreadState* t = thread_state()) note([&](const MayWait& may_wait) { region_entered(may_wait, *t); });
  return nesting;
}

int decrement_nesting() {
  const int nesting = original<int (*)()>(CASTSCOPE_HOOK_DECREMENT_NESTING)();
  // A thread without a state entered nothing, unless it came out of a fork inside a region.
  if (ThreadState* t = g_process.forked ? thread_state() : thread_slot()) {
    know_regions(*t);
    note([&](const MayWait& may_wait) { region_left(may_wait, *t); });
  }
  return nesting;
}

}  // namespace

void* state_hook(castscope_hook hook) {
  switch (hook) {
    case CASTSCOPE_HOOK_SET_AUTOCAST_ENABLED:
      return reinterpret_cast<void*>(&set_autocast_enabled);
    case CASTSCOPE_HOOK_SET_AUTOCAST_CACHE_ENABLED:
      return reinterpret_cast<void*>(&set_autocast_cache_enabled);
    case CASTSCOPE_HOOK_INCREMENT_NESTING:
      return reinterpret_cast<void*>(&increment_nesting);
    case CASTSCOPE_HOOK_DECREMENT_NESTING:
      return reinterpret_cast<void*>(&decrement_nesting);
    case CASTSCOPE_HOOK_ENGINE_EXECUTE:
      return engine_hook();
    case kPrivateUse1Backend:
      return privateuse1_hook();
    default:
      return nullptr;
  }
}

void explicit_step() {
  ThreadState* t = g_process.silent() ? nullptr : thread_state();
  if (t == nullptr) return;
  Recording& r = *g_process.recording.load(std::memory_order_acquire);
  r.steps.explicit_step();
  r.segment.header().present_step.store(r.steps.current(), std::memory_order_relaxed);
  tell_training_steps(r);
  mark(*t, lanes::EventKind::kStep, 0, static_cast<std::uint8_t>(lanes::StepReason::kExplicit));
  note([&](const MayWait&) { g_features.outermost_region_began(*t, true); });
}

}  // namespace castscope::agent
