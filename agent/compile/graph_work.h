// What a compiled graph launches on a GPU is told to be its: "0/0 forward", "0/0 backward". Its generated kernels
// belong to no operator.
#pragma once

#include <string_view>

#include "agent/compile/graphs.h"
#include "agent/gpu/gpu.h"
#include "agent/session/process.h"

namespace castscope::compile {

// As long as the graph runs, in its thread. Costs nothing but in timed steps.
class GraphWork {
 public:
  GraphWork(observe::ThreadState& t, std::string_view id, Part part);
  // In a child that was forked meanwhile the thread has another state, and nothing begun.
  ~GraphWork();
  GraphWork(const GraphWork&) = delete;
  GraphWork& operator=(const GraphWork&) = delete;

 private:
  const std::uint32_t outer_;
  gpu::Work work_;
};

}  // namespace castscope::compile
