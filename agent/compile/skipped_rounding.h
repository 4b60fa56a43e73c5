// Finds results in lower precision that a fused kernel never rounds. Within a kernel, Inductor computes bfloat16 and
// float16 in float32, and rounds only where it stores (torch/_inductor/codegen/triton.py, upcast_compute_type, and
// cpp.py); eager code rounds after every operator. `torch._inductor.config.emulate_precision_casts` makes Inductor
// round as eager code does.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/compile/graph_text.h"

namespace castscope::compile {

// The nodes whose results are used within one kernel only: pointwise nodes whose users are pointwise operators of the
// same size, and that are not returned.
std::vector<std::uint32_t> never_rounded(const std::vector<Node>& graph);

}  // namespace castscope::compile
