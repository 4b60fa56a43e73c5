#include "agent/compile/graph_work.h"

#include <string>

namespace castscope::compile {

GraphWork::GraphWork(agent::ThreadState& t, std::string_view id, Part part) : outer_(t.gpu_origin) {
  if (!gpu::timing()) return;
  std::string name(id);
  name += part == Part::kForward ? " forward" : " backward";
  t.gpu_origin = agent::g_process.recording.load()->definitions.string(name);
  work_ = gpu::work_begins(t);
}

GraphWork::~GraphWork() {
  agent::ThreadState* t = agent::thread_slot();
  if (t == nullptr) return;
  if (work_) gpu::work_ends(*t, work_, {});
  t->gpu_origin = outer_;
}

}  // namespace castscope::compile
