// What the drawings of a graph say: the same words on the page and for Graphviz.
#pragma once

#include <string>
#include <vector>

#include "server/graph/folding.h"
#include "server/store/run/run_data.h"

namespace castscope::report {

// "weight, bias f32→bf16": arguments that are cast alike, in one line. "input" for what has no name.
// `from_outside`: casts of values whose lines are not drawn.
std::vector<std::string> entry_marks(const graph::Node&, const std::vector<const graph::Edge*>& from_outside = {});
// "f32→bf16"; "" for an edge without a cast.
std::string edge_mark(const graph::Edge&);
// "bfloat16", "float32 → bfloat16" where the result has another dtype than was computed in.
std::string dtypes_text(const graph::Node&);
// "linear"; of the backward pass "mm of MmBackward0".
std::string operator_text(const graph::Node&);
// "encoder.layers.0.linear1", the model's name for the outermost; "" outside modules.
std::string module_text(const graph::Node&);
// All that is known of it, in lines: for who points at it.
std::string told(const store::RunData&, const graph::Node&);

}  // namespace castscope::report
