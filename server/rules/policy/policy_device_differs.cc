// policy-device-differs: this device's autocast leaves some operators alone, so that they computed in low precision,
// while autocast of other devices has a rule for them (for most of them: float32). A run here proves nothing about the
// dtypes there.
//
// The agent asks the dispatcher in the job which devices know an operator. The rule leaves out products, recurrent
// cells and the like, which are cast down elsewhere, and operators that are only promoted there: those compute in low
// precision everywhere when they are given it.
#include <algorithm>

#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/inquiry/rule.h"
#include "server/rules/policy/listed_operators.h"
#include "server/store/run/names.h"

namespace castscope::rules::policy_device_differs {
namespace {

// A model of ordinary layers has up to four of them: layer_norm, softmax, pow (in GELU and RMS norms) and sum. That a
// CPU run differs from a GPU run in these surprises nobody; code with five or more depends on them.
constexpr Threshold kThresholds[] = {
    {"operators", 5, "a job with fewer different operators of this kind is an ordinary model"}};

bool is_low_everywhere(std::string_view op) {
  constexpr std::string_view kNames[] = {"addcdiv",   "addcmul", "atan2",       "bilinear",
                                         "cross",     "dot",     "index_put",   "vdot",
                                         "tensordot", "prelu",   "scatter_add", "grid_sampler"};
  const std::string name = short_name(op);
  return is_product(op) || name.ends_with("_cell") || is_one_of(name, kNames);
}

bool given_half(const store::OperatorUse& use) {
  return std::any_of(use.operands.begin(), use.operands.end(), [](const lanes::Operand& operand) {
    return is_low(operand.dtype) && operand.role != lanes::Role::kWeight;
  });
}

void judge_devices(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const auto is_one = [&](const store::OperatorUse& use, store::ProcessId) {
    return is_forward(use) && use.is(lanes::kUseElsewhere) && is_low(use.computed) && in_autocast(data, use) &&
           given_half(use) && !is_low_everywhere(use.op);
  };
  for (const ListedOperators& listed : listed_operators(data, is_one)) {
    if (static_cast<double>(listed.names.size()) < inquiry.threshold("operators")) continue;
    const std::string device(store::device_name(listed.first->device));
    const std::string low(store::dtype_name(listed.first->computed));
    Finding& finding = inquiry.add(listed.first->stack);
    finding.title = short_list(listed) + " computed in " + low + " on " + device +
                    "; autocast of other devices has rules for them, most of them float32";
    finding.deep_only = true;
    finding.evidence_number = {{"operator_count", listed.names.size()}, {"calls", listed.times}};
    finding.evidence_text = {{"operator_names", list_text(listed)}, {"device", device}, {"computed_in", low}};
    finding.related = other_places(data, listed);
    finding.fix =
        "Take dtypes, and what follows from them (overflow, memory, agreement of results), from a run on the "
        "device that counts. For the same on both, bring what these operators are given to float32 (.float()).";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "policy-device-differs",
    .severity = "info",
    .summary = "operators compute in another dtype under the autocast of another device",
    .thresholds = kThresholds,
    .sees = kOperators,
    .explanation =
        {.what =
             "Operators computed in low precision because autocast of this device has no rule for them; autocast of "
             "other devices has.",
         .why = "Each device has its own lists. softmax, layer_norm, exp, pow, sum, norms and cumsum run in float32 "
                "under autocast on a GPU; on a CPU they take the dtype that they are given. So a run on one device "
                "proves nothing about dtypes, overflow or memory on the other.",
         .example = R"(import torch

layer = torch.nn.Linear(64, 64)
with torch.autocast("cpu", dtype=torch.bfloat16):
    h = layer(torch.randn(64, 64))
    results = [h.softmax(-1), h.exp(), h.pow(2), h.cumsum(0), h.norm(dim=0), h.sum(0)])",
         .fix = "Check dtypes on the device that counts, or make them the same by hand: `.float()` before these "
                "operators.",
         .fixed_example = R"(import torch

layer = torch.nn.Linear(64, 64)
with torch.autocast("cpu", dtype=torch.bfloat16):
    h = layer(torch.randn(64, 64)).float()
    results = [h.softmax(-1), h.exp(), h.pow(2), h.cumsum(0), h.norm(dim=0), h.sum(0)])",
         .links = "https://docs.pytorch.org/docs/stable/amp.html#autocast-op-reference"},
    .judge = judge_devices,
};

}  // namespace castscope::rules::policy_device_differs
