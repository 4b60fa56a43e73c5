// op-fp32-by-policy: autocast brought the low-precision arguments of an operator up to float32, because it holds the
// operator to be unsafe in low precision. Nothing is wrong, but people who count on low precision there should know.
//
// The rule reports it once for a job, with all its operators. It leaves out losses: an operator that gives one number
// in a process that trains, or without grad mode. Everybody wants a loss in float32, and training ends there. It also
// leaves out operators whose arguments have different dtypes, since they may have been promoted; an operator that the
// job registered with autocast itself; and operators for which a script or a trace has autocast off, which other rules
// report.
#include <set>

#include "absl/strings/str_join.h"
#include "server/rules/evidence/mode_facts.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/enforced_decisions.h"
#include "server/rules/evidence/operators/low_kernels.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/inquiry/rule.h"
#include "server/rules/policy/listed_operators.h"
#include "server/store/run/names.h"

namespace castscope::rules::op_fp32_by_policy {
namespace {

// Returns the low dtype of all arguments that decide; kNoDtype when they do not share one.
std::uint8_t low_dtype_of(const EnforcedDecisions& enforced, const store::OperatorUse& use) {
  std::uint8_t low = kNoDtype;
  for (const lanes::Operand& operand : use.operands) {
    if (!has_dimensions(operand) || !is_floating(operand.dtype)) continue;
    // The weights of a norm are float32 whatever the norm computes in.
    if (operand.role == lanes::Role::kWeight && !enforced.promotes_to_widest(use)) continue;
    if (!is_low(operand.dtype) || (low != kNoDtype && operand.dtype != low)) return kNoDtype;
    low = operand.dtype;
  }
  return low;
}

// The operators, by the advice that the finding can give.
struct Advised {
  std::set<std::string> low, none;  // operators with a kernel in low precision, and those without
  std::string none_in, low_dtype;   // "bfloat16 on cpu", "bfloat16"
  bool in_script = false;           // one of `low` was called by a script
};

Advised advised(const EnforcedDecisions& enforced, const ListedOperators& listed) {
  Advised about;
  for (const store::OperatorUse* use : listed.uses) {
    const std::uint8_t low = low_dtype_of(enforced, *use);
    const bool raises = raises_in(use->op, use->device, low);
    (raises ? about.none : about.low).insert(short_name(use->op));
    about.in_script |= !raises && use->is(lanes::kUseScript);
    if (!raises || !about.none_in.empty()) continue;
    about.low_dtype = store::dtype_name(low);
    about.none_in = about.low_dtype + " on " + std::string(store::device_name(use->device));
  }
  return about;
}

std::string fix_for(const EnforcedDecisions& enforced, const ListedOperators& listed) {
  const Advised about = advised(enforced, listed);
  const std::string none = absl::StrJoin(about.none, ", ");
  if (about.low.empty())
    return "Where what follows is to be in low precision, cast the result down there, once (y = y.to(torch." +
           about.low_dtype + ")). PyTorch has no kernel of " + none + " for " + about.none_in +
           ", so it is in float32 in any case.";
  std::string fix =
      "Where the memory or time of float32 matters, and low precision is good enough there, call the operator in a "
      "nested region with enabled=False";
  if (about.in_script) fix += " (of Python: a script's own does not switch off a region around its call)";
  fix += "; else cast its result down where the next operator needs it, once.";
  if (!none.empty()) fix += " This is not for " + none + ": PyTorch has no kernel of it for " + about.none_in + ".";
  return fix;
}

void judge_fp32(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const std::set<Line> though_off = lines_cast_though_off(data);
  const EnforcedDecisions enforced(data);
  std::set<store::ProcessId> training;  // processes
  for (const store::UseCount& count : data.use_counts)
    if (data.operator_uses[count.use].phase == lanes::Phase::kBackward) training.insert(count.process);
  const auto is_one = [&](const store::OperatorUse& use, store::ProcessId process) {
    if (!is_forward(use) || !use.is(lanes::kUseEligible) || use.is(lanes::kUseConverts)) return false;
    if (!use.op.starts_with("aten::")) return false;
    if (const auto* decision = enforced.of(use); decision != nullptr && decision->ruled)
      if (enforced.promotes_to_widest(use)) return false;  // float32 came with another argument
    // The casts of a script's own region are in its graph: no kernel of autocast ran.
    if (use.region != 0 && data.regions[use.region].kind == lanes::RegionKind::kScript) return false;
    const bool loss = use.is(lanes::kUseReduces) && (training.contains(process) || !use.is(lanes::kUseGradMode));
    return use.computed == kFloat && in_autocast(data, use) && low_dtype_of(enforced, use) != kNoDtype && !loss &&
           !though_off.contains(line_of(data, use.stack));
  };
  for (const ListedOperators& listed : listed_operators(data, is_one)) {
    Finding& finding = inquiry.add(listed.first->stack);
    finding.title = short_list(listed) + (listed.names.size() == 1 ? " computes" : " compute") +
                    " in float32 by autocast's policy, though given low precision";
    finding.deep_only = true;
    finding.evidence_number = {
        {"operator_count", listed.names.size()}, {"calls", listed.times}, {"operator_ns", listed.ns}};
    finding.evidence_text = {{"operator_names", list_text(listed)},
                             {"device", std::string(store::device_name(listed.first->device))}};
    finding.related = other_places(data, listed);
    finding.fix = fix_for(enforced, listed);
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "op-fp32-by-policy",
    .severity = "info",
    .summary = "autocast runs operators in float32, whatever they are given",
    .thresholds = {},
    .sees = kOperators,
    .explanation =
        {.what = "Operators that were given low-precision tensors in an autocast region were run in float32: they are "
                 "on autocast's float32 list of the device. The loss at the end of training is left out.",
         .why = "Their results are float32, take twice the memory, and what follows is cast down again or stays in "
                "float32. Which operators these are differs between devices: on a CPU mse_loss, cdist, fft, on a GPU "
                "softmax, norms, exp, pow and sums.",
         .example = R"(import torch

convolution = torch.nn.Conv3d(4, 4, 3)
with torch.autocast("cpu", dtype=torch.bfloat16):
    h = convolution(torch.randn(1, 4, 8, 8, 8))
    y = torch.nn.functional.max_pool3d(h, 2)
print(y.dtype)  # torch.float32)",
         .fix =
             "Where it costs too much and PyTorch has a kernel of it in low precision (the finding says so), run the "
             "operator in `torch.autocast(…, enabled=False)`. Else cast its result down, once, where low precision "
             "goes on.",
         .fixed_example = R"(import torch

convolution = torch.nn.Conv3d(4, 4, 3)
with torch.autocast("cpu", dtype=torch.bfloat16):
    h = convolution(torch.randn(1, 4, 8, 8, 8))
    with torch.autocast("cpu", enabled=False):
        y = torch.nn.functional.max_pool3d(h, 2)
print(y.dtype)  # torch.bfloat16)",
         .links = "https://docs.pytorch.org/docs/stable/amp.html#autocast-op-reference"},
    .judge = judge_fp32,
};

}  // namespace castscope::rules::op_fp32_by_policy
