#include "server/rules/evidence/operators/uses.h"

#include <algorithm>

#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/places/regions.h"

namespace castscope::rules {
namespace {

// PyTorch documents that these promote to the widest input type (amp.html), on any device. Most other operators that
// promote do so without autocast, and are on no list.
constexpr std::string_view kPromoting[] = {"aten::cat",       "aten::stack",      "aten::index_copy", "aten::index_put",
                                           "aten::addcdiv",   "aten::addcmul",    "aten::atan2",      "aten::cross",
                                           "aten::tensordot", "aten::scatter_add"};

}  // namespace

bool is_floating_tensor(const lanes::Operand& operand) {
  return is_floating(operand.dtype) && (operand.flags & lanes::kOperandNumber) == 0;
}

bool has_operand(const store::OperatorUse& use, std::uint8_t dtype) {
  return std::any_of(use.operands.begin(), use.operands.end(),
                     [&](const lanes::Operand& operand) { return operand.dtype == dtype; });
}

const lanes::Operand* operand_at(const store::OperatorUse& use, std::uint8_t argument, std::uint8_t dtype) {
  for (const lanes::Operand& operand : use.operands)
    if (operand.argument == argument && operand.dtype == dtype) return &operand;
  return nullptr;
}

bool is_upkeep(const store::OperatorUse& use) {
  if (!use.is(lanes::kUseWrites) || use.is(lanes::kUseGradMode) || use.operands.empty()) return false;
  const lanes::Role written = use.operands.front().role;
  return written != lanes::Role::kActivation && written != lanes::Role::kInput;
}

bool is_on_no_list(const store::OperatorUse& use) {
  return !use.is(lanes::kUseEligible | lanes::kUseSiblingEligible | lanes::kUseElsewhere);
}

bool promotes_to_widest(const store::OperatorUse& use) {
  return !use.is(lanes::kUseEligible | lanes::kUseElsewhere) || is_one_of(base_name(use.op), kPromoting);
}

bool is_cast_down(const store::RunData& data, const store::OperatorUse& use) {
  if (!is_low(use.computed) || use.is(lanes::kUseConverts | lanes::kUseWrites) || !in_autocast(data, use)) return false;
  return std::any_of(use.operands.begin(), use.operands.end(),
                     [](const lanes::Operand& operand) { return operand.dtype == kFloat && has_dimensions(operand); });
}

}  // namespace castscope::rules
