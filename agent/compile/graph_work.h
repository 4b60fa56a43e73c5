// Names a compiled graph ("0/0 forward", "0/0 backward") as the origin of the work that it launches on a GPU. Its
// generated kernels belong to no operator.
#pragma once

#include <string_view>

#include "agent/compile/graphs.h"
#include "agent/gpu/gpu.h"
#include "agent/session/process.h"

namespace castscope::compile {

// Lives as long as the graph runs, in its thread. Costs nothing except in timed steps.
class GraphWork {
 public:
  GraphWork(agent::ThreadState& t, std::string_view id, Part part);
  // A child that was forked meanwhile has another state for this thread, and nothing begun.
  ~GraphWork();
  GraphWork(const GraphWork&) = delete;
  GraphWork& operator=(const GraphWork&) = delete;

 private:
  const std::uint32_t outer_;
  gpu::Work work_;
};

}  // namespace castscope::compile
