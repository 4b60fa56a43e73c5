// Calls of compiled regions. Dynamo makes each call within a RecordFunction named "Torch-Compiled Region: 0/0"
// (torch/csrc/dynamo/eval_frame.c, dynamo_eval_custom_code), whether or not anybody listens. One listener is added to
// those, and none to the events of operators.
#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <atomic>
#include <exception>
#include <new>
#include <string_view>

#include "agent/compile/backward_runs.h"
#include "agent/compile/compile.h"
#include "agent/compile/graph_work.h"
#include "agent/compile/graphs.h"
#include "agent/gpu/gpu.h"
#include "agent/session/process.h"
#include "agent/torch/originals.h"

namespace castscope::compile {
namespace {

using agent::ThreadState;

// Lives while the region runs. `known`: its graphs are known, and so are their casts.
class RunsRegion : public at::ObserverContext {
 public:
  RunsRegion(ThreadState& t, std::string_view name, bool known) : known_(known), work_(t, name, Part::kForward) {
    t.compiled_regions += known;
  }
  ~RunsRegion() override {
    ThreadState* t = agent::thread_slot();  // differs from before in a child that was forked meanwhile
    if (t != nullptr && known_ && t->compiled_regions > 0) --t->compiled_regions;
  }

 private:
  const bool known_;
  const GraphWork work_;
};

std::unique_ptr<at::ObserverContext> region_begins(const at::RecordFunction& function) {
  constexpr std::string_view kRegion = "Torch-Compiled Region: ";
  std::string_view name = function.name();
  if (!name.starts_with(kRegion)) return nullptr;
  name.remove_prefix(kRegion.size());
  ThreadState* t = agent::g_process.silent() ? nullptr : agent::thread_state();
  if (t == nullptr) return nullptr;
  const bool known = graph_runs(*t, name, Part::kForward);
  expect_backward_of(name);
  return known || gpu::timing() ? std::make_unique<RunsRegion>(*t, name, known) : nullptr;
}

using RecordFunction = void (*)(at::RecordFunction* self, at::RecordScope scope);

void record_function(at::RecordFunction* self, at::RecordScope scope) {
  if (scope != at::RecordScope::FUNCTION || !any_graph()) {
    agent::original<RecordFunction>(CASTSCOPE_HOOK_RECORD_FUNCTION)(self, scope);
    return;
  }
  at::StepCallbacks callbacks = at::getStepCallbacks(scope);
  callbacks.callbacks_.push_back({&region_begins, nullptr});
  new (self) at::RecordFunction(std::move(callbacks));
}

}  // namespace

bool in_graph(const agent::MayWait& may_wait, const ThreadState& t) noexcept {
  return any_graph() && (t.compiled_regions != 0 || in_backward_graph(may_wait));
}

void* hook(castscope_hook hook) {
  return hook == CASTSCOPE_HOOK_RECORD_FUNCTION ? reinterpret_cast<void*>(&record_function) : nullptr;
}

void fork_begins() {
  hold_graphs();
  hold_backward_runs();
}

void fork_ends() {
  release_backward_runs();
  release_graphs();
}

}  // namespace castscope::compile
