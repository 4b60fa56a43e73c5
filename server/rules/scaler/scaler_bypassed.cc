// scaler-bypassed: gradients of a scaled loss were used as they are: an optimizer stepped with them past the scaler, or
// their norm was clipped before they were unscaled.
#include <algorithm>
#include <set>

#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/inquiry/rule.h"
#include "server/rules/scaler/scaler_facts.h"

namespace castscope::rules::scaler_bypassed {
namespace {

// The job may divide gradients by the scale in its own code, in place.
bool may_unscale_by_hand(const store::RunData& data, const store::ScalerUse& scaler) {
  if (scaler.unscales != 0) return false;
  constexpr std::string_view kWriting[] = {"div_", "mul_", "copy_", "_foreach_div_", "_foreach_mul_", "_foreach_copy_"};
  return std::any_of(data.use_counts.begin(), data.use_counts.end(), [&](const store::UseCount& count) {
    if (count.process != scaler.process || count.times == 0) return false;
    const store::OperatorUse& use = data.operator_uses[count.use];
    const bool writes = use.is(lanes::kUseWrites) && is_one_of(short_name(use.op), kWriting);
    return writes && use.phase != lanes::Phase::kForward && !is_inside_torch(data, use.stack);
  });
}

void add_scale_evidence(const store::ScalerUse& use, Finding& finding) {
  finding.evidence_number = {{"scaled_losses", use.scales}, {"unscales", use.unscales}};
  if (use.last_scale > 0) finding.evidence_text.emplace_back("last_scale", readable_number(use.last_scale));
}

void judge_step(Inquiry& inquiry, const store::ScalerUse& use, std::set<Line>& told) {
  const store::RunData& data = inquiry.data;
  if (use.step_past_scaler == 0 || may_unscale_by_hand(data, use)) return;
  const store::Fact& step = data.facts[use.step_past_scaler];
  if (!told.insert(line_of(data, step.stack)).second) return;
  Finding& finding = inquiry.add(step.stack);
  const std::string optimizer = step.text.empty() ? "an optimizer" : step.text;
  finding.title = optimizer + " steps past the scaler, with gradients that are still multiplied by the scale";
  add_scale_evidence(use, finding);
  if (!step.text.empty()) finding.evidence_text.emplace_back("optimizer", step.text);
  finding.fix =
      "Step through the scaler: scaler.step(optimizer) for each optimizer whose gradients come from a scaled loss, "
      "then "
      "one scaler.update().";
}

void judge_clip(Inquiry& inquiry, const store::ScalerUse& use, std::set<Line>& told) {
  const store::RunData& data = inquiry.data;
  if (use.clip_before_unscale == 0 || may_unscale_by_hand(data, use)) return;
  const store::Fact& clip = data.facts[use.clip_before_unscale];
  if (!told.insert(line_of(data, clip.stack)).second) return;
  Finding& finding = inquiry.add(clip.stack);
  finding.title = "gradients are clipped before they are unscaled: the bound meets gradients times the scale";
  add_scale_evidence(use, finding);
  finding.deep_only = true;
  finding.fix = "Call scaler.unscale_(optimizer) before the gradients are clipped; scaler.step(optimizer) knows of it.";
}

void judge_bypasses(Inquiry& inquiry) {
  std::set<Line> told;
  for (const store::ScalerUse& use : inquiry.data.scaler_uses) {
    judge_step(inquiry, use, told);
    judge_clip(inquiry, use, told);
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "scaler-bypassed",
    .severity = "error",
    .harm = Harm::kResults,
    .summary = "scaled gradients were used without being unscaled",
    .thresholds = {},
    .sees = kSomeOperators | kEvents,
    .explanation = {.what = "The loss was scaled by GradScaler, and then an optimizer stepped without it, or the "
                            "gradients were clipped before `unscale_`.",
                    .why = "Scaled gradients are up to 65536 times and more too large: weights move by as much, and a "
                           "norm that is clipped to 1 leaves next to nothing after unscaling.",
                    .example = R"(import torch

body, head = torch.nn.Linear(8, 8), torch.nn.Linear(8, 1)
first = torch.optim.SGD(body.parameters(), lr=0.1)
second = torch.optim.SGD(head.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
with torch.autocast("cpu", dtype=torch.float16):
    loss = head(body(torch.randn(4, 8))).sum()
scaler.scale(loss).backward()
scaler.step(first)
second.step()  # scaler.step(second)
scaler.update())",
                    .fix = "`scaler.step(optimizer)` for each optimizer; `scaler.unscale_(optimizer)` before clipping.",
                    .fixed_example = R"(import torch

body, head = torch.nn.Linear(8, 8), torch.nn.Linear(8, 1)
first = torch.optim.SGD(body.parameters(), lr=0.1)
second = torch.optim.SGD(head.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
with torch.autocast("cpu", dtype=torch.float16):
    loss = head(body(torch.randn(4, 8))).sum()
scaler.scale(loss).backward()
scaler.step(first)
scaler.step(second)
scaler.update())",
                    .links = "https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-clipping"},
    .judge = judge_bypasses,
};

}  // namespace castscope::rules::scaler_bypassed
