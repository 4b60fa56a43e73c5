// Results in lower precision that a fused kernel never rounds. Inductor computes bfloat16 and float16 in float32 within
// a kernel, and rounds where it stores (torch/_inductor/codegen/triton.py, upcast_compute_type, and cpp.py): eager code
// rounds after every operator. `torch._inductor.config.emulate_precision_casts` makes it round as eager code does.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/compile/graph_text.h"

namespace castscope::compile {

// The nodes whose results are used within one kernel alone: pointwise, given to pointwise operators of the same size,
// and not returned.
std::vector<std::uint32_t> never_rounded(const std::vector<Node>& graph);

}  // namespace castscope::compile
