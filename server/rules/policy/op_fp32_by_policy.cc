// op-fp32-by-policy: autocast brought the low-precision arguments of an operator up to float32, because it holds the
// operator to be unsafe in low precision. Nothing is wrong; who counts on low precision there should know.
//
// Told once for a job, with all its operators. Left out: a loss. Its result is one number, everybody wants it in
// float32, and it is where training ends: whatever gives one number in a process that trains, or without grad mode.
// Arguments of different dtypes are left out too: they may have been promoted; and an operator that the job registered
// with autocast itself.
#include <set>

#include "server/rules/dtypes.h"
#include "server/rules/policy/enforced_decisions.h"
#include "server/rules/policy/listed_operators.h"
#include "server/rules/regions.h"
#include "server/rules/rules.h"
#include "server/rules/uses.h"
#include "server/store/names.h"

namespace castscope::rules {
namespace {

bool all_half(const EnforcedDecisions& enforced, const store::OperatorUse& use) {
  std::uint8_t low = kNoDtype;
  for (const lanes::Operand& operand : use.operands) {
    if (!has_dimensions(operand) || !is_floating(operand.dtype)) continue;
    // A norm's weights are float32 whatever it computes in.
    if (operand.role == lanes::Role::kWeight && !enforced.promotes_to_widest(use)) continue;
    if (!is_low(operand.dtype) || (low != kNoDtype && operand.dtype != low)) return false;
    low = operand.dtype;
  }
  return low != kNoDtype;
}

void judge_fp32(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const EnforcedDecisions enforced(data);
  std::set<std::uint32_t> training;  // processes
  for (const store::UseCount& count : data.use_counts)
    if (data.operator_use(count.use).phase == lanes::Phase::kBackward) training.insert(count.process);
  const auto is_one = [&](const store::OperatorUse& use, std::uint32_t process) {
    if (!is_forward(use) || !use.is(lanes::kUseEligible) || use.is(lanes::kUseConverts)) return false;
    if (!use.op.starts_with("aten::")) return false;
    if (const auto* decision = enforced.of(use); decision != nullptr && decision->ruled)
      if (enforced.promotes_to_widest(use)) return false;  // float32 came with another argument
    // What a script's own region casts is in its graph: no kernel of autocast ran.
    if (use.region != 0 && data.region(use.region).kind == lanes::RegionKind::kScript) return false;
    const bool loss = use.is(lanes::kUseReduces) && (training.contains(process) || !use.is(lanes::kUseGradMode));
    return use.computed == kFloat && in_autocast(data, use) && all_half(enforced, use) && !loss;
  };
  for (const ListedOperators& listed : listed_operators(data, is_one)) {
    Finding& finding = inquiry.add(listed.first->stack);
    finding.title = short_list(listed) + (listed.names.size() == 1 ? " computes" : " compute") +
                    " in float32 by autocast's policy, though given low precision";
    finding.deep_only = true;
    finding.evidence_number = {{"operators", listed.names.size()}, {"calls", listed.times}, {"cpu_ns", listed.ns}};
    finding.evidence_text = {{"operator_names", list_text(listed)},
                             {"device", std::string(store::device_name(listed.first->device))}};
    finding.related = other_places(data, listed);
    finding.fix =
        "Nothing needs mending. Where the memory or time of float32 matters, and low precision is good "
        "enough there, call the operator in a nested region with enabled=False; else cast its result down "
        "where the next operator needs it, once.";
  }
}

}  // namespace

extern const Rule op_fp32_by_policy;
const Rule op_fp32_by_policy = {
    .name = "op-fp32-by-policy",
    .severity = "info",
    .summary = "autocast runs these operators in float32, whatever they are given",
    .thresholds = {},
    .explanation =
        {.what = "Operators that were given low-precision tensors in an autocast region were run in float32: they are "
                 "on autocast's float32 list of the device. A loss that training ends with is not told.",
         .why = "Their results are float32, take twice the memory, and what follows is cast down again or stays in "
                "float32. Which operators these are differs between devices: on a CPU mse_loss, cdist, fft, on a GPU "
                "softmax, norms, exp, pow and sums.",
         .example = R"(import torch

layer = torch.nn.Linear(8, 8)
with torch.autocast("cpu", dtype=torch.bfloat16):
    h = layer(torch.randn(4, 8))
    torch.cdist(h, h))",
         .fix = "Usually nothing. Where it costs too much, run the operator in `torch.autocast(…, enabled=False)`.",
         .links = "https://docs.pytorch.org/docs/stable/amp.html#autocast-op-reference"},
    .judge = judge_fp32,
};

}  // namespace castscope::rules
