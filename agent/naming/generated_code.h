// Python code that torch.fx wrote from a graph: of an exported program, of what Dynamo hands to a backend, of any
// GraphModule. Nodes remember the lines of the code that they were made from.
//
// Sources: torch/fx/graph_module.py (GraphModule, _lineno_map), torch/fx/graph.py (PythonCode),
// torch/export/_unlift.py.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/cpython/code_line.h"
#include "agent/cpython/python_api.h"

namespace castscope::agent {

bool is_generated_code(std::string_view file);  // "<eval_with_key>.9"

struct GeneratedLine {
  // lanes::kExportedProgram and its like: PyTorch numbers the code that it generates, so that the same graph has
  // another name in another run. Empty: it is not the code of a graph.
  std::string_view graph;
  std::vector<CodeLine> lines;  // from the innermost out; empty where the graph does not remember them
};
// `self`: the first local variable of a frame that runs generated code, at this line of it. No exception is left
// behind.
GeneratedLine line_of_graph(const HeldGil& gil, const PythonApi& py, const void* self, std::uint32_t line);

}  // namespace castscope::agent
