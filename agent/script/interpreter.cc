// Where TorchScript's interpreter stands in the calling thread.
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/frontend/source_range.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <optional>
#include <vector>

#include "agent/observe/hooks.h"
#include "agent/observe/misplaced_sources.h"
#include "agent/observe/process.h"
#include "agent/observe/script_regions.h"
#include "agent/script/graph_hooks.h"
#include "agent/script/known_ranges.h"
#include "agent/script/misplaced.h"
#include "agent/script/ranges.h"
#include "agent/script/region_calls.h"
#include "agent/script/script.h"

namespace castscope::script {
namespace {

using observe::ThreadState;

thread_local const Running* t_running = nullptr;

const void* python_frame() {
  if (!observe::g_process.has_python) return nullptr;
  const ThreadState* t = observe::thread_slot();
  return observe::PythonStack::top(observe::g_process.python, t == nullptr ? nullptr : t->python_thread);
}

class Entered {
 public:
  explicit Entered(const void* node = nullptr) : before_(t_running), now_{python_frame(), node, before_} { set(&now_); }
  ~Entered() { set(before_); }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  static void set(const Running* running) {
    t_running = running;
    ThreadState* t = observe::thread_slot();
    if (t == nullptr) return;
    if (t->script == nullptr) ++t->script_runs;
    t->script = running;
    if (running == nullptr) observe::script_ended(*t);
  }
  const Running* const before_;
  const Running now_;
};

using Run = void (*)(void* interpreter, void* stack);

void run(void* interpreter, void* stack) {
  if (any_unasked()) observe::find_misplaced_sources();
  region_ends_by_exception(stack);
  Entered entered;
  observe::original<Run>(CASTSCOPE_HOOK_JIT_RUN)(interpreter, stack);
}

// A node whose inputs are all constants is run while its graph is optimized: a cast of a frozen model's weight.
using Folded = std::optional<std::vector<c10::IValue>>;
using FoldConstant = Folded (*)(const torch::jit::Node* node, bool ignore_custom_classes, void* aliases);

Folded fold_constant(const torch::jit::Node* node, bool ignore_custom_classes, void* aliases) {
  Entered entered(node);
  return observe::original<FoldConstant>(CASTSCOPE_HOOK_FOLD_CONSTANT)(node, ignore_custom_classes, aliases);
}

std::vector<torch::jit::StackEntry> entries() {
  if (t_running != nullptr && t_running->node != nullptr)
    return chain_of(*static_cast<const torch::jit::Node*>(t_running->node));
  return torch::jit::currentCallstack();
}

}  // namespace

const Running* running() { return t_running; }

std::uint64_t call_chain_hash() {
  std::uint64_t hash = 0;
  for (const torch::jit::StackEntry& entry : entries())
    hash = observe::add_frame(hash, reinterpret_cast<std::uint64_t>(entry.range.source().get()),
                              std::uint64_t{entry.range.start()} << 32 ^ entry.range.end());
  return hash;
}

std::vector<Frame> call_chain() {
  const auto chain = entries();
  for (const torch::jit::StackEntry& entry : chain) keep(entry.range);
  return frames_of(chain);
}

bool at_traced_line() {
  const auto chain = entries();
  return !chain.empty() && is_traced(chain.front().range);
}

std::shared_ptr<const NodeNote> present_note() {
  const auto chain = entries();
  return chain.empty() ? nullptr : note_of(chain.front().range);
}

std::shared_ptr<const NodePlace> present_place() {
  const auto chain = entries();
  return chain.empty() ? nullptr : place_of(chain.front().range);
}

void* hook(castscope_hook hook) {
  switch (hook) {
    case CASTSCOPE_HOOK_JIT_RUN:
      return reinterpret_cast<void*>(&run);
    case CASTSCOPE_HOOK_FOLD_CONSTANT:
      return reinterpret_cast<void*>(&fold_constant);
    case CASTSCOPE_HOOK_JIT_AUTOCAST:
      return autocast_hook();
    case CASTSCOPE_HOOK_JIT_PLAN:
      return plan_hook();
    case CASTSCOPE_HOOK_JIT_INSERT_GRAPH:
      return insert_graph_hook();
    default:
      return nullptr;
  }
}

}  // namespace castscope::script
