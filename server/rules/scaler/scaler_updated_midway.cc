// scaler-updated-midway: the scale was updated between backward passes whose gradients were added up before any
// optimizer took them: the sum holds gradients of two scales.
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/inquiry/rule.h"
#include "server/rules/scaler/scaler_facts.h"

namespace castscope::rules::scaler_updated_midway {
namespace {

void judge_updates(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  std::set<Line> told;
  for (const store::ScalerUse& use : data.scaler_uses) {
    if (use.update_between_backwards == 0) continue;
    const store::StackId stack = data.facts[use.update_between_backwards].stack;
    if (!told.insert(line_of(data, stack)).second) continue;
    Finding& finding = inquiry.add(stack);
    finding.title = "the scale is updated between backward passes whose gradients are added up";
    finding.evidence_number = {{"updates", use.updates}, {"unscales", use.unscales}};
    if (use.first_scale > 0)
      finding.evidence_text = {{"first_scale", readable_number(use.first_scale)},
                               {"least_scale", readable_number(use.least_scale)},
                               {"last_scale", readable_number(use.last_scale)}};
    finding.deep_only = true;
    finding.fix =
        "Call scaler.update() once, after the optimizer step: with gradient accumulation inside the same `if` as "
        "scaler.step(optimizer), or take out the gradients (optimizer.zero_grad()) before the next backward.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "scaler-updated-midway",
    .severity = "error",
    .harm = Harm::kResults,
    .summary = "the scale changed while gradients were being accumulated",
    .thresholds = {},
    .sees = kOperators | kEvents,
    .explanation = {.what = "`GradScaler.update` was called after a backward pass whose gradients no optimizer step "
                            "had taken, and another backward added to them.",
                    .why = "When the scale changes there, gradients of different scale are added up, and no division "
                           "brings them back to their sizes.",
                    .example = R"(import torch

layer = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=2048.0)
for step in range(4):
    with torch.autocast("cpu", dtype=torch.float16):
        loss = layer(torch.randn(4, 8)).sum()
    scaler.scale(loss).backward()
    if step % 2 == 1:
        scaler.step(optimizer)
        optimizer.zero_grad()
    scaler.update(1024.0)  # belongs into the `if`)",
                    .fix = "One `update()` for each optimizer step.",
                    .fixed_example = R"(import torch

layer = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=2048.0)
for step in range(4):
    with torch.autocast("cpu", dtype=torch.float16):
        loss = layer(torch.randn(4, 8)).sum()
    scaler.scale(loss).backward()
    if step % 2 == 1:
        scaler.step(optimizer)
        optimizer.zero_grad()
        scaler.update(1024.0))",
                    .links = "https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation"},
    .judge = judge_updates,
};

}  // namespace castscope::rules::scaler_updated_midway
