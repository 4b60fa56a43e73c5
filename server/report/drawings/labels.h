// The labels in drawings of a graph. The HTML page and Graphviz use the same words.
#pragma once

#include <string>
#include <vector>

#include "server/graph/folding.h"
#include "server/store/run/run_data.h"

namespace castscope::report {

// "weight, bias f32→bf16": arguments that are cast alike share a line. An argument without a name is called "input".
// `from_outside` holds casts of values whose lines are not drawn.
std::vector<std::string> entry_marks(const graph::Node&, const std::vector<const graph::Edge*>& from_outside = {});
// "f32→bf16"; "" for an edge without a cast.
std::string edge_mark(const graph::Edge&);
// "bfloat16", or "float32 → bfloat16" where the result has another dtype than the computation.
std::string dtypes_text(const graph::Node&);
// "linear", or "mm of MmBackward0" in the backward pass.
std::string operator_text(const graph::Node&);
// "encoder.layers.0.linear1"; the model's name for the outermost module; "" outside modules.
std::string module_text(const graph::Node&);
// Everything that is known about the node, in lines; viewers show it when the mouse points at the node.
std::string node_details(const store::RunData&, const graph::Node&);

// At most so many characters of the text: "transfo…".
std::string beginning_of(const std::string& text, std::size_t characters);

}  // namespace castscope::report
