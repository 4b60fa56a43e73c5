// Notes when TorchScript's interpreter begins and ends in a thread.
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/frontend/source_range.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <optional>
#include <vector>

#include "agent/regions/script_regions.h"
#include "agent/script/graph_hooks.h"
#include "agent/script/misplaced_sources.h"
#include "agent/script/region_calls.h"
#include "agent/script/script_hooks.h"
#include "agent/session/process.h"
#include "agent/torch/originals.h"
#include "agent/torchscript/interpreter_state.h"
#include "agent/torchscript/known_ranges.h"
#include "agent/torchscript/misplaced.h"
#include "agent/torchscript/ranges.h"

namespace castscope::script {
namespace {

using agent::ThreadState;

const void* python_frame() {
  if (!agent::g_process.has_python) return nullptr;
  const ThreadState* t = agent::thread_slot();
  return agent::PythonStack::top(agent::g_process.python, t == nullptr ? nullptr : t->python_thread);
}

class RunningNow {
 public:
  explicit RunningNow(const void* node = nullptr) : before_(running()), now_{python_frame(), node, before_} {
    set(&now_);
  }
  ~RunningNow() { set(before_); }
  RunningNow(const RunningNow&) = delete;
  RunningNow& operator=(const RunningNow&) = delete;

 private:
  static void set(const Running* running) {
    set_running(running);
    ThreadState* t = agent::thread_slot();
    if (t == nullptr) return;
    if (t->script == nullptr) ++t->script_runs;
    t->script = running;
    if (running == nullptr) agent::script_ended(*t);
  }
  const Running* const before_;
  const Running now_;
};

using Run = void (*)(void* interpreter, void* stack);

void run(void* interpreter, void* stack) {
  if (any_unasked()) agent::find_misplaced_sources(agent::MayWait::before_original());
  region_ends_by_exception(stack);
  RunningNow entered;
  agent::original<Run>(CASTSCOPE_HOOK_JIT_RUN)(interpreter, stack);
}

// A node whose inputs are all constants runs while its graph is optimized: a cast of a frozen model's weight.
using Folded = std::optional<std::vector<c10::IValue>>;
using FoldConstant = Folded (*)(const torch::jit::Node* node, bool ignore_custom_classes, void* aliases);

Folded fold_constant(const torch::jit::Node* node, bool ignore_custom_classes, void* aliases) {
  RunningNow entered(node);
  return agent::original<FoldConstant>(CASTSCOPE_HOOK_FOLD_CONSTANT)(node, ignore_custom_classes, aliases);
}

}  // namespace

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
