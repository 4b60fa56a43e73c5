// Notes when the interpreter enters and leaves a region of a script. The interpreter calls the methods __enter__ and
// __exit__ of the region's object, and asks for the plan of each function that it calls. Where an exception ends the
// region, it has an interpreter of its own run the method.
//
// Source: insertEnterMethodCalls, EXIT and runGraphFunction of torch/csrc/jit/runtime/interpreter.cpp.
#include <ATen/core/class_type.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "agent/regions/script_regions.h"
#include "agent/script/graph_hooks.h"
#include "agent/script/region_calls.h"
#include "agent/torch/originals.h"
#include "agent/torchscript/graph_regions.h"
#include "agent/torchscript/interpreter_state.h"

namespace castscope::script {
namespace {

using c10::IValue;
using Stack = std::vector<IValue>;
using Object = c10::ivalue::Object;

// Remembers the class of regions that was met last: this is asked at each call of a scripted function.
bool is_region_object(const IValue& value) {
  static std::atomic<const c10::ClassType*> known{nullptr};
  if (!value.isObject()) return false;
  const auto type = value.toObjectRef().type();
  if (type.get() == known.load(std::memory_order_relaxed)) return true;
  if (!is_autocast_class(*type)) return false;
  static const auto* const kept = new std::shared_ptr<c10::ClassType>(type);  // so that no other class gets its address
  known.store(kept->get(), std::memory_order_relaxed);
  return true;
}

// __exit__ gets the object and so many arguments besides.
constexpr std::size_t kNones = 3;
bool is_call_of_exit(const Stack& stack) {
  if (stack.size() <= kNones) return false;
  for (std::size_t i = 1; i <= kNones; ++i)
    if (!stack[stack.size() - i].isNone()) return false;
  return is_region_object(stack[stack.size() - kNones - 1]);
}

const IValue* attribute(const Object& object, const char* name) {
  const auto slot = object.type()->findAttributeSlot(name);
  return slot.has_value() ? &object.getSlot(*slot) : nullptr;
}

agent::ScriptRegion seen(const IValue& value) {
  const Object& object = value.toObjectRef();
  const IValue* device = attribute(object, "device");
  const IValue* dtype = attribute(object, "fast_dtype");
  const IValue* enabled = attribute(object, "_enabled");
  agent::ScriptRegion region{.object = &object};
  const bool cuda = device != nullptr && device->isString() && device->toStringRef() == "cuda";
  region.device = static_cast<std::uint8_t>(cuda ? c10::DeviceType::CUDA : c10::DeviceType::CPU);
  if (dtype != nullptr && dtype->isInt()) region.dtype = static_cast<std::uint8_t>(dtype->toInt());
  region.enabled = enabled != nullptr && enabled->isBool() && enabled->toBool();
  return region;
}

RegionPointer present_region() {
  const auto place = present_place();
  return place == nullptr ? nullptr : place->region;
}

template <typename Note>
void note(Note what) {
  if (agent::g_process.silent()) return;
  try {
    if (agent::ThreadState* t = agent::thread_state()) what(agent::MayWait::before_original(), *t);
  } catch (const std::exception& e) {
    agent::step_aside_without_memory(e);
  }
}

void look_at_call(const Stack& stack) {
  if (stack.empty()) return;
  if (stack.back().isNone()) {
    if (is_call_of_exit(stack))
      note([&](const auto& may_wait, auto& t) {
        agent::script_region_left(may_wait, t, seen(stack[stack.size() - kNones - 1]), present_region(), false);
      });
  } else if (is_region_object(stack.back())) {
    note([&](const auto& may_wait, auto& t) { agent::script_region_entered(may_wait, t, seen(stack.back())); });
  }
}

using PlanFor = const void* (*)(void* executor, Stack& stack, std::optional<std::size_t> bailouts);

const void* plan_for(void* executor, Stack& stack, std::optional<std::size_t> bailouts) {
  look_at_call(stack);
  return agent::original<PlanFor>(CASTSCOPE_HOOK_JIT_PLAN)(executor, stack, bailouts);
}

}  // namespace

void region_ends_by_exception(const void* stack) {
  const auto& values = *static_cast<const Stack*>(stack);
  if (values.size() != kNones + 1 || !is_call_of_exit(values)) return;
  note([&](const auto& may_wait, auto& t) {
    agent::script_region_left(may_wait, t, seen(values.front()), present_region(), true);
  });
}

void* plan_hook() { return reinterpret_cast<void*>(&plan_for); }

}  // namespace castscope::script
