#include "agent/session/steps.h"

#include "agent/torch/torch_python.h"

namespace castscope::agent {

// torch.optim.Optimizer marks a class by `step.hooked = True` when its first instance is made (_patch_step_function
// in torch/optim/optimizer.py).
bool Steps::any_hooked(const HeldGil& gil, const PythonApi& api, PyObject* optimizer_class, int depth) {
  if (depth > 16) return false;
  PyObject* step = api.get_attribute(optimizer_class, "step");
  PyObject* hooked = step == nullptr ? nullptr : api.get_attribute(step, "hooked");
  if (hooked == nullptr) api.clear_error();
  const bool found = hooked != nullptr && api.is_true(hooked) == 1;
  if (hooked != nullptr) api.dec_ref(hooked);
  if (step != nullptr) api.dec_ref(step);
  if (found) return true;
  api.inc_ref(optimizer_class);
  unused_.push_back({optimizer_class, type_version(optimizer_class), type_children(optimizer_class)});
  PyObject* children = api.call_method(optimizer_class, "__subclasses__", nullptr);
  if (children == nullptr) {
    api.clear_error();
    return false;
  }
  bool any = false;
  for (std::ptrdiff_t i = 0; !any && i < api.list_size(children); ++i)
    any = any_hooked(gil, api, api.list_item(children, i), depth + 1);
  api.dec_ref(children);
  return any;
}

bool Steps::still_unused(const HeldGil&) const {
  for (const OptimizerClass& known : unused_)
    if (known.version == 0 || type_version(known.type) != known.version || type_children(known.type) != known.children)
      return false;
  return !unused_.empty();
}

bool Steps::optimizer_exists(const PythonApi& api) {
  if (has_optimizer_.load(std::memory_order_relaxed)) return true;
  // A loop without an optimizer asks at every region: an optimizer that is made after many regions must be seen at the
  // next one.
  const HeldGil* gil = HeldGil::asked(api);
  if (gil == nullptr || still_unused(*gil)) return false;
  KeepError keep(*gil, api);
  for (const OptimizerClass& known : unused_) api.dec_ref(known.type);
  unused_.clear();
  PyObject* module = api.dict_item(api.import_modules(), "torch.optim.optimizer");
  PyObject* base = module == nullptr ? nullptr : api.get_attribute(module, "Optimizer");
  const bool found = base != nullptr && any_hooked(*gil, api, base, 0);
  if (base != nullptr) api.dec_ref(base);
  if (found) has_optimizer_.store(true, std::memory_order_relaxed);
  return found;
}

// Whether a compiled optimizer wrote to weights, as far as that can be told.
bool Steps::stepped_unseen(const PythonApi& api, bool written) {
  if (!written) return false;
  if (ranges_seen_.load(std::memory_order_relaxed))
    return silent_.fetch_add(1, std::memory_order_relaxed) + 1 > kSilent;
  const HeldGil* gil = HeldGil::asked(api);
  return gil == nullptr || dynamo_compiled(*gil, api);
}

Steps::Entered Steps::outermost_enter(const PythonApi& api, const Entry& entry) {
  const std::uint64_t before = open_.fetch_add(1, std::memory_order_relaxed);
  Entered entered{static_cast<Era>(before >> 32), false, {}};
  entered.step_begins = begins(api, entry, static_cast<std::uint32_t>(before) == 0, entered.reason);
  return entered;
}

Steps::Entered Steps::asked_in_standing_region(Era era) {
  if (!stepped_.load(std::memory_order_relaxed)) return {era, false, {}};
  outermost_exit(era);
  const std::uint64_t before = open_.fetch_add(1, std::memory_order_relaxed);
  Entered entered{static_cast<Era>(before >> 32), false, lanes::StepReason::kOptimizer};
  const bool alone = static_cast<std::uint32_t>(before) == 0;
  if (!alone || are_explicit() || !stepped_.exchange(false, std::memory_order_relaxed)) return entered;
  graph_pending_.store(true, std::memory_order_relaxed);
  opened_.store(false, std::memory_order_relaxed);
  weights_changed_.store(false, std::memory_order_relaxed);
  current_.fetch_add(1, std::memory_order_relaxed);
  entered.step_begins = true;
  return entered;
}

void Steps::outermost_exit(Era era) {
  std::uint64_t open = open_.load(std::memory_order_relaxed);
  while (open >> 32 == era && !open_.compare_exchange_weak(open, open - 1, std::memory_order_relaxed)) {
  }
}

void Steps::optimizer_stepped() {
  std::uint64_t open = open_.load(std::memory_order_relaxed);
  while (!open_.compare_exchange_weak(open, ((open >> 32) + 1) << 32, std::memory_order_relaxed)) {
  }
  has_optimizer_.store(true, std::memory_order_relaxed);
  const bool ends_step = !stepped_.exchange(true, std::memory_order_relaxed);
  if (ends_step && region_seen_.load(std::memory_order_relaxed) && !are_explicit())
    trained_.fetch_add(1, std::memory_order_relaxed);
}

bool Steps::ended_with_unseen_step(bool weights_changed) const {
  return rangeless_stepped_.load(std::memory_order_relaxed) && !are_explicit() &&
         !stepped_.load(std::memory_order_relaxed) && graph_pending_.load(std::memory_order_relaxed) &&
         (weights_changed || weights_changed_.load(std::memory_order_relaxed));
}

bool Steps::begins(const PythonApi& api, const Entry& entry, bool alone, lanes::StepReason& reason) {
  if (entry.stands) {
    standing_.store(true, std::memory_order_relaxed);
    region_seen_.store(true, std::memory_order_relaxed);
    graph_pending_.store(true, std::memory_order_relaxed);
    return false;
  }
  if (!alone || entry.in_backward || explicit_.load(std::memory_order_relaxed)) {
    if (entry.weights_changed) weights_changed_.store(true, std::memory_order_relaxed);
    return false;
  }
  const bool first = !region_seen_.exchange(true, std::memory_order_relaxed);
  const bool written = weights_changed_.exchange(false, std::memory_order_relaxed) || entry.weights_changed;
  const bool pending = graph_pending_.load(std::memory_order_relaxed);
  bool stepped = stepped_.exchange(false, std::memory_order_relaxed);
  if (!first && !stepped && entry.in_optimizer) return false;
  if (!stepped && pending && stepped_unseen(api, written)) {
    stepped = true;
    rangeless_stepped_.store(true, std::memory_order_relaxed);
    trained_.fetch_add(1, std::memory_order_relaxed);
  }
  if (stepped && !first) passes_.training_step_ended();
  // Checked at each region: a region that was entered before there was an optimizer is a step of its own.
  const bool makes_graph = entry.grad_mode && optimizer_exists(api);
  const bool within = !first && !stepped && pending;
  const bool opens = !within && !entry.grad_mode && passes_.enter(entry.place);
  const bool opened = !first && !stepped && opened_.load(std::memory_order_relaxed);
  if (within || (opened && (entry.grad_mode || opens))) {
    if (makes_graph) graph_pending_.store(true, std::memory_order_relaxed);
    opened_.store(opened && !entry.grad_mode, std::memory_order_relaxed);
    return false;
  }
  graph_pending_.store(makes_graph, std::memory_order_relaxed);
  opened_.store(opens || (first && !entry.grad_mode && optimizer_exists(api)), std::memory_order_relaxed);
  if (first) return false;
  reason = stepped ? lanes::StepReason::kOptimizer : lanes::StepReason::kRegionEnd;
  current_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void Steps::explicit_step() {
  explicit_.store(true, std::memory_order_relaxed);
  trained_.fetch_add(1, std::memory_order_relaxed);
  current_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace castscope::agent
