// The operators of a step and the values that flow between them, as deep steps saw them: the graph that is drawn
// (server/report/drawings draws it in the report). A use that is seen in several stacks is one node as long as its
// module, line, operator and dtypes are the same; a loop over layers has a node for each module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/rules/evidence/operators/dtypes.h"
#include "server/store/run/run_data.h"

namespace castscope::graph {

using rules::kNoDtype;

// Casts of an argument that no operator of the graph made: a weight, the model's input.
struct EntryCast {
  std::string argument;  // "weight"; "" = not known
  lanes::Role role{};
  std::uint8_t from = kNoDtype, to = kNoDtype;
  std::uint64_t casts = 0, hits = 0;  // in the whole run; 0 and 0 = not known
};

struct Node {
  std::string op;    // "linear"
  std::string node;  // in the backward pass: the node that called it, "MmBackward0"
  const store::Module* module = nullptr;
  std::uint8_t computed = kNoDtype, result = kNoDtype;
  bool by_code = false;  // a conversion that the code asks for: .to(), .float()
  std::uint64_t times = 0;
  std::optional<store::CodeLocation> at;
  std::vector<std::string> given;  // dtype and name of each argument, "input bfloat16"
  std::vector<EntryCast> entries;
  std::size_t edge_casts = 0;  // edges into it that carry a cast
};

struct Edge {
  std::size_t from = 0, to = 0;     // nodes
  std::uint8_t dtype = kNoDtype;    // dtype of the value
  std::uint8_t cast_to = kNoDtype;  // dtype that autocast cast it to on its way in; kNoDtype = it did not
  std::string argument;             // the argument of `to` that takes it, where that is known
  std::uint64_t times = 0;
  bool is_cast() const { return cast_to != kNoDtype; }
};

// A part of the graph. Its nodes are in the order in which they were first called.
struct Part {
  enum class Kind : std::uint8_t { kForward, kBackward, kWithoutGradients };
  Kind kind{};
  std::vector<Node> nodes;
  std::vector<Edge> edges;  // each pair of nodes, dtype and cast once; none from a node to itself
  std::size_t casts() const;
};

// Returns the parts that have nodes. It leaves out optimizers' operators, and others that run outside of autocast
// regions and modules and have no connection to anything inside.
std::vector<Part> parts_of(const store::RunData& data);

std::string_view title(Part::Kind kind);
// Returns "bf16" or "f32" for marks, and PyTorch's name for other dtypes.
std::string short_dtype(std::uint8_t dtype);

}  // namespace castscope::graph
