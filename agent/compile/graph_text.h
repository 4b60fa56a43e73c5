// The text of a graph of torch.compile, as torch._logging.trace_structured gives it out for `aot_forward_graph`,
// `aot_inference_graph` and `aot_backward_graph` (torch/_functorch/_aot_autograd/graph_compile.py), also for graphs
// that come from a cache: torch.fx's print_readable with strides and devices. Each value has its dtype, each group of
// lines the place in the user's code.
//
//     # File: train.py:13 in forward, code: h = F.gelu(self.l(x))
//     convert_element_type: "bf16[16][1]cpu" = torch.ops.prims.convert_element_type.default(primals_2, torch.bfloat16);
//     addmm: "bf16[2, 16][16, 1]cpu" = torch.ops.aten.addmm.default(convert_element_type, …)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace castscope::compile {

inline constexpr std::uint8_t kNoFloat = 0xff;  // not a floating dtype, or one that autocast has nothing to do with

// A place that the text names; line 0 if it names none.
struct Place {
  std::string file;
  std::uint32_t line = 0;
  std::string function = {};  // not told everywhere: two places that differ only in whether it is told are the same
  bool operator==(const Place& other) const { return file == other.file && line == other.line; }
};

struct Node {
  std::string name;
  std::string op;                     // "aten::addmm"; "" for an argument of the graph, and for Python's own getitem
  std::uint8_t dtype = kNoFloat;      // c10::ScalarType of its value
  std::uint64_t bytes = 0;            // bytes of its value; 0 if not known (symbolic sizes)
  std::vector<std::uint32_t> inputs;  // nodes
  Place place;
  bool returned = false;

  bool is_conversion() const { return op == "prims::convert_element_type" || op == "aten::_to_copy"; }
};

// Nodes in the order of the text. The graphs of higher-order operators follow, as they do in the text.
std::vector<Node> read_graph(std::string_view text);

// For a conversion between floating dtypes: the dtype that it converts from. kNoFloat for any other node.
std::uint8_t converts_from(const std::vector<Node>& graph, const Node& node);

}  // namespace castscope::compile
