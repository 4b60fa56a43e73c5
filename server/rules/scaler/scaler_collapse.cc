// scaler-collapse: gradient after gradient is inf or NaN; GradScaler takes no step and halves its scale each time, far
// below the one at which scaling could be what overflows.
#include "server/rules/evidence/amp_handle.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/inquiry/rule.h"
#include "server/rules/scaler/scaler_facts.h"

namespace castscope::rules::scaler_collapse {
namespace {

// A scale below 1 makes gradients smaller than they are: then the gradients themselves are inf or NaN, not their
// multiples. From GradScaler's default of 65536 it takes 17 skipped steps in a row to get there (2^16 / 2^17). A scale
// that is set low by hand gets there sooner, so the rule also asks for 10 skips.
constexpr Threshold kThresholds[] = {
    {"skips", 10, "fewer skipped steps in a row are how GradScaler finds its scale"},
    {"scale", 1, "a scale that did not fall below this may still be too large"},
    {"skips_unseen", 17, "of a scale on a GPU, which is not read: from 65536, fewer leave it at 1 or above"},
};

void judge_collapse(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  std::set<Line> told;
  for (const store::ScalerUse& use : data.scaler_uses) {
    const bool skipping = static_cast<double>(use.longest_skips) >= inquiry.threshold("skips");
    const bool seen = use.least_scale > 0;
    const bool small = seen ? use.least_scale < inquiry.threshold("scale")
                            : static_cast<double>(use.longest_skips) >= inquiry.threshold("skips_unseen");
    if (!skipping || !small || use.last_update == 0) continue;
    const store::StackId stack = data.facts[use.last_update].stack;
    if (!told.insert(line_of(data, stack)).second) continue;  // another rank reported the same line
    Finding& finding = inquiry.add(stack);
    finding.title = counted(use.longest_skips, "optimizer step") + " in a row were skipped" +
                    (seen ? " and the scale fell to " + readable_number(use.least_scale) : "") +
                    ": the gradients are inf or NaN whatever the scale";
    finding.evidence_number = {{"most_skips_in_a_row", use.longest_skips},
                               {"unscales", use.unscales},
                               {"not_finite_unscales", use.not_finite},
                               {"updates", use.updates}};
    if (seen)
      finding.evidence_text = {{"first_scale", readable_number(use.first_scale)},
                               {"least_scale", readable_number(use.least_scale)},
                               {"last_scale", readable_number(use.last_scale)}};
    finding.fix =
        "Look for what overflows before the loss is scaled: print the loss, and look for inf in the activations (sums "
        "and products in float16 beyond 65504, log(0), division by 0). Give that part float32 (x.float(), with " +
        turned_off(amp_handle_in(data, use.process)) +
        " around matrix products); or use bfloat16, which needs no scaler.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "scaler-collapse",
    .severity = "warning",
    .harm = Harm::kResults,
    .summary = "GradScaler skips step after step, and its scale falls towards 0",
    .thresholds = kThresholds,
    .sees = kEvents,
    .explanation =
        {.what = "Gradients were inf or NaN many times in a row. GradScaler skipped each of these optimizer "
                 "steps and halved its scale, which fell below 1.",
         .why = "GradScaler says nothing of it: the job goes on, and learns nothing. A scale below 1 cannot "
                "be too large, so that the gradients themselves are the trouble.",
         .example = R"(import torch

layer = torch.nn.Linear(8, 8)
torch.nn.init.constant_(layer.bias, 12.0)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
for step in range(40):
    with torch.autocast("cpu", dtype=torch.float16):
        loss = layer(torch.randn(4, 8)).exp().sum(1).log().mean()  # exp(12) is inf in float16
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
print(scaler.get_scale())  # 6e-08)",
         .fix = "Find what overflows, and give it float32 (`x.float()`, with autocast off around matrix products) or "
                "use bfloat16.",
         .fixed_example = R"(import torch

layer = torch.nn.Linear(8, 8)
torch.nn.init.constant_(layer.bias, 12.0)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
for step in range(40):
    with torch.autocast("cpu", dtype=torch.float16):
        loss = layer(torch.randn(4, 8)).float().exp().sum(1).log().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
print(scaler.get_scale())  # 65536)",
         .links = "https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling"},
    .judge = judge_collapse,
};

}  // namespace castscope::rules::scaler_collapse
