#include "server/rules/precision/upcast_fix.h"

#include <algorithm>
#include <string_view>

#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/precision/widened.h"
#include "server/store/run/names.h"

namespace castscope::rules {
namespace {

constexpr std::string_view kAdds[] = {"aten::add", "aten::__radd__"};

// The value was in low precision before: x.float().to(torch.bfloat16).
bool was_low_before(const UseGraph& graph, const store::OperatorUse& conversion) {
  const auto into = graph.into(conversion.id);
  return std::any_of(into.begin(), into.end(), [&](const UseGraph::Edge& edge) {
    const store::OperatorUse& from = graph.use(edge.flow->from);
    return std::ranges::any_of(from.operands, [](const lanes::Operand& operand) { return is_low(operand.dtype); });
  });
}

// Returns the use that gave the low-precision value its dtype, where the code asked for that: a conversion, or an
// operator that made the value of nothing (arange, randn); nullptr where autocast's own products made it.
const store::OperatorUse* made_low_by(const UseGraph& graph, const store::OperatorUse& use) {
  for (const UseGraph::Edge& edge : graph.into(use.id)) {
    const store::OperatorUse& from = graph.use(edge.flow->from);
    if (edge.flow->argument != low_operand(use)->argument || !is_low(from.result)) continue;
    if (from.operands.empty()) return &from;
    if (from.is(lanes::kUseConverts) && !was_low_before(graph, from)) return &from;
  }
  return nullptr;
}

std::string_view name_of(lanes::Role role) {
  if (role == lanes::Role::kWeight) return "the parameter";
  return role == lanes::Role::kBuffer ? "the buffer" : "the float32 value";
}

// Says how to have float32, and what that does not bring back.
std::string if_float32_is_meant(const store::RunData& data, const UseGraph& graph, const store::OperatorUse& use,
                                const std::string& low) {
  if (const store::OperatorUse* maker = made_low_by(graph, use))
    return "If float32 is meant from here on, make the " + low + " value in float32 where it is made (" +
           place_text(data, line_of(data, maker->stack)) + ", " + short_name(maker->op) +
           "): .float() here does not bring back what was rounded there.";
  return "If float32 is meant from here on, say so with .float() on the " + low +
         " value, which does not bring back what was rounded before.";
}

}  // namespace

std::string fix_of_stream() {
  return "To have the stream in low precision, and save these casts, bring it there where it begins (x = "
         "x.to(torch.bfloat16) before the first block). Where float32 is meant, which is the more exact, say so: x + "
         "block(x).float().";
}

std::string fix_of_state() {
  return "Give the initial state in the region's dtype (torch.zeros(…, dtype=torch.bfloat16)): without one PyTorch "
         "makes it in the input's, float32.";
}

std::string fix_of_upcast(const store::RunData& data, const UseGraph& graph, const store::OperatorUse& use) {
  const lanes::Operand* wide = wide_operand(use);
  if (wide->role == lanes::Role::kWeight && is_one_of(base_name(use.op), kAdds))
    return "Let the operator of the matrix product add it (F.linear(x, w, b), torch.addmm), which autocast casts as a "
           "whole, or cast it: b.to(x.dtype).";
  const std::string low(store::dtype_name(low_operand(use)->dtype));
  const std::string to = ".to(torch." + low + ")";
  const std::string cast =
      wide->role == lanes::Role::kActivation || wide->role == lanes::Role::kInput
          ? "Bring the float32 value to " + low + " where it enters (" + to + " before the first of these lines). "
          : "Cast " + std::string(name_of(wide->role)) + " to " + low + " here (" + to + "). ";
  return cast + if_float32_is_meant(data, graph, use, low);
}

}  // namespace castscope::rules
