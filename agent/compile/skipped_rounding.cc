#include "agent/compile/skipped_rounding.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace castscope::compile {
namespace {

// The operators that inductor computes element by element, and so within the kernel of their user
// (torch/_inductor/lowering.py, register_pointwise, and the decompositions of torch/_inductor/decomposition.py that end
// in these).
constexpr std::array kPointwise = {
    "abs",  "add",   "addcdiv", "addcmul", "clamp",   "clamp_max", "clamp_min", "cos",  "div",  "erf",
    "exp",  "expm1", "log",     "log1p",   "maximum", "minimum",   "mul",       "neg",  "pow",  "reciprocal",
    "relu", "rsqrt", "sigmoid", "sin",     "sqrt",    "square",    "sub",       "tanh", "where"};

bool is_pointwise(const Node& node) {
  if (node.is_conversion()) return true;
  return node.op.starts_with("aten::") && std::ranges::find(kPointwise, node.op.substr(6)) != kPointwise.end();
}

bool is_low(std::uint8_t dtype) { return dtype == 5 || dtype == 15; }

std::uint64_t elements(const Node& node) {
  return node.dtype == kNoFloat ? 0 : node.bytes / (is_low(node.dtype) ? 2 : node.dtype == 7 ? 8 : 4);
}

}  // namespace

std::vector<std::uint32_t> never_rounded(const std::vector<Node>& graph) {
  std::vector<std::uint32_t> uses(graph.size(), 0);
  std::vector<bool> stored(graph.size(), false);
  for (const Node& node : graph) {
    for (const std::uint32_t input : node.inputs) {
      ++uses[input];
      if (!is_pointwise(node) || elements(node) != elements(graph[input])) stored[input] = true;
    }
  }
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < graph.size(); ++i)
    if (is_low(graph[i].dtype) && is_pointwise(graph[i]) && uses[i] > 0 && !stored[i] && !graph[i].returned)
      found.push_back(i);
  return found;
}

}  // namespace castscope::compile
