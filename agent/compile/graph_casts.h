// Tells which conversions of a compiled graph are autocast's, which the user's, and which came in by decompositions
// (aten.gelu becomes a dozen operators in float32 with conversions around them). The text of a graph does not tell;
// what autocast did while the code was traced does.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agent/compile/graph_text.h"

namespace castscope::compile {

// An operator that stays a single operator in every graph, and that autocast runs in lower precision: a matrix product,
// a convolution, attention.
bool is_product(const Node& node);

enum class Whose : std::uint8_t { kAutocast, kUser, kGraph };

// A conversion that was seen while code was traced, on a tensor without values.
struct TracedCast {
  bool users = false;  // by .to() and its like; else by autocast
  std::uint8_t from = kNoFloat, to = kNoFloat;
  std::string op;             // for a cast by autocast: "aten::linear"
  std::vector<Place> places;  // its stack, innermost first
  bool subclass = false;      // the tensor is a Python subclass, in whose place the graph may convert several tensors
};

struct GraphCast {
  std::uint32_t node;
  std::uint8_t from, to;
  Whose whose = Whose::kGraph;
  std::uint32_t traced = 0;  // index into `traced`, for autocast's and the user's
};

// Gives one GraphCast for each conversion of the graph between floating dtypes. A traced cast is given to at most one
// of them, unless it is of a subclass: the graph may have fewer of equal ones (common subexpressions), and more at one
// place (decompositions).
std::vector<GraphCast> casts_of(const std::vector<Node>& graph, std::span<const TracedCast> traced);

}  // namespace castscope::compile
