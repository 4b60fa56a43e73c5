#include "server/rules/errors/missing_kernels.h"

#include <string>

#include "server/policy/elsewhere.h"
#include "server/rules/evidence/error_facts.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules {
namespace {

enum class Why { kUnknown, kScript, kDisabled, kNoRegion };

// Eager autocast of the operator's device would have brought its arguments to float32.
bool is_held_by_eager(const store::OperatorUse& use) {
  return policy::computes_on(store::device_name(use.device), policy::operator_called(use.op), policy::Given::kLow) ==
         policy::Computed::kFloat32;
}

Why why_of(const store::RunData& data, const ErrorAt& at) {
  if (at.use == 0) return Why::kUnknown;
  const store::OperatorUse& use = data.operator_uses[at.use];
  const store::Region* region = region_of_device(data, use);
  if (region == nullptr) return Why::kNoRegion;
  if (!region->enabled) return Why::kDisabled;
  return region->kind == lanes::RegionKind::kScript && is_held_by_eager(use) ? Why::kScript : Why::kUnknown;
}

std::string_view reason(Why why) {
  switch (why) {
    case Why::kScript:
      return ": TorchScript's autocast has no rule for it, eager autocast brings it to float32";
    case Why::kDisabled:
      return ", and autocast is disabled there: nothing brings it to float32";
    case Why::kNoRegion:
      return ", and it ran outside of autocast, where nothing brings it to float32";
    case Why::kUnknown:
      return "";
  }
  return "";
}

// Returns "bfloat16": the dtype of the arguments, or else the one in the error's text.
std::string dtype_got(const store::RunData& data, const ErrorAt& at) {
  if (at.use != 0)
    for (const lanes::Operand& operand : data.operator_uses[at.use].operands)
      if (is_floating_tensor(operand)) return std::string(store::dtype_name(dtype_entered(operand)));
  return std::string(store::dtype_name(*dtypes_named(at.text).begin()));
}

std::string on_device(const store::RunData& data, const ErrorAt& at) {
  return at.use == 0 ? "" : " on " + std::string(store::device_name(data.operator_uses[at.use].device));
}

}  // namespace

void judge_missing_kernels(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  for (const ErrorAt& at : errors_about(data, ErrorTopic::kNoKernel)) {
    const Why why = why_of(data, at);
    Finding& finding = inquiry.add(at.stack);
    finding.title = operator_of(data, at) + " raised: PyTorch has no kernel of it for " + dtype_got(data, at) +
                    on_device(data, at) + std::string(reason(why));
    add_error_evidence(data, at, finding);
    finding.fix = "Give it float32 (x.float())";
    if (why == Why::kScript)
      finding.fix += "; or open the region around the call of the script instead of inside of it";
    finding.fix += ".";
  }
}

}  // namespace castscope::rules
