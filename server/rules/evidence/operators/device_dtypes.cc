#include "server/rules/evidence/operators/device_dtypes.h"

#include "server/policy/elsewhere.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/regions.h"
#include "server/store/run/names.h"

namespace castscope::rules {
namespace {

using policy::CastPolicy;

// Returns the dtype in which an operator computes without autocast, and to which autocast promotes: numbers and 0-dim
// tensors do not decide.
std::uint8_t widest(const store::OperatorUse& use) {
  std::uint8_t dtype = kNoDtype;
  for (const lanes::Operand& operand : use.operands) {
    if (!is_floating_tensor(operand) || !has_dimensions(operand)) continue;
    if (dtype == kNoDtype || dtype == operand.dtype)
      dtype = operand.dtype;
    else
      dtype = dtype == kDouble || operand.dtype == kDouble ? kDouble : kFloat;
  }
  return dtype;
}

std::uint8_t computed_by(CastPolicy policy, const store::OperatorUse& use, std::uint8_t low) {
  switch (policy) {
    case CastPolicy::kLowerPrecision:
      return low;
    case CastPolicy::kFp32:
    case CastPolicy::kFp32SetOptDtype:
    case CastPolicy::kFp32AppendDtype:
      return kFloat;
    case CastPolicy::kBanned:
      return kNoDtype;
    default:
      return widest(use);
  }
}

}  // namespace

std::vector<DeviceDtype> computes_elsewhere(const store::RunData& data, const store::OperatorUse& use) {
  std::vector<DeviceDtype> all;
  const store::Region* const region = enabled_region(data, use);
  if (region == nullptr || use.is(lanes::kUseConverts | lanes::kUseWrites)) return all;
  if (!is_low(use.computed) && use.computed != kFloat) return all;
  const std::string_view here = store::device_name(use.device);
  const policy::OperatorName op = policy::operator_called(use.op);
  for (const std::string_view device : policy::kDeviceNames) {
    if (device == here || device == "any") continue;
    const CastPolicy policy = policy::on_device(device, op).policy;
    // The operators that it calls may be on the list: a recurrent layer is made of products, and nll_loss_nd is
    // nll_loss. It has no kernel here and computed in a dtype that it was not given, which shows the same.
    const bool by_others = !use.is(lanes::kUseEligible) && use.computed != widest(use);
    if (policy == CastPolicy::kPassthrough && (by_others || is_matrix_work(use.op) || is_made_of_products(use.op)))
      continue;
    const std::uint8_t there = computed_by(policy, use, region->dtype);
    if (there != kNoDtype && there != use.computed) all.push_back({device, there});
  }
  return all;
}

}  // namespace castscope::rules
