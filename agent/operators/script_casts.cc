#include "agent/operators/script_casts.h"

#include "agent/casts/planned_casts.h"
#include "agent/torch/autocast_state.h"

namespace castscope::operators {

std::optional<lanes::Role> role_of_script_cast(const OpenUse& use) {
  if (!use.script || use.info->kind != OperatorInfo::Kind::kConversion || use.n == 0) return std::nullopt;
  if (agent::in_backward()) return std::nullopt;
  if (const auto planned = agent::role_of_planned_cast()) return planned;
  return use.info->base.starts_with("aten::_autocast_to_") ? std::optional(lanes::Role::kUnknown) : std::nullopt;
}

Producer cast_copy(const GivenTensor& from, lanes::Role role, std::uint8_t dtype) {
  Producer copy = from.producer;
  copy.dtype = dtype;
  copy.before = {.dtype = from.dtype,
                 .role = role,
                 .leaf = from.leaf,
                 .view = from.view,
                 .parameter = from.parameter,
                 .requires_grad = (from.flags & lanes::kOperandRequiresGrad) != 0};
  return copy;
}

bool look_before_cast(GivenTensor& given) {
  const BeforeCast& before = given.producer.before;
  given.cast_by_script = given.dtype;
  given.dtype = before.dtype;
  given.leaf = before.leaf;
  given.view = before.view;
  given.parameter = before.parameter;
  return before.requires_grad;
}

}  // namespace castscope::operators
