// scaler-double-unscale: GradScaler.unscale_ was called twice for one optimizer between two updates, or after its step,
// and raised.
#include "server/rules/evidence/error_facts.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::scaler_double_unscale {
namespace {

void add_findings(Inquiry& inquiry, std::string_view text, std::string_view title) {
  for (const ErrorAt& at : errors_saying(inquiry.data, text)) {
    Finding& finding = inquiry.add(at.stack);
    finding.title = title;
    add_error_evidence(inquiry.data, at, finding);
    finding.fix =
        "Call scaler.unscale_(optimizer) once for each optimizer step, before anything looks at the gradients (after "
        "the last backward of an accumulation), then scaler.step(optimizer) and scaler.update().";
  }
}

void judge_double_unscale(Inquiry& inquiry) {
  add_findings(inquiry, "unscale_() has already been called on this optimizer",
               "unscale_ raised: the gradients of this optimizer have been unscaled already since the last update()");
  add_findings(inquiry, "unscale_() is being called after step()",
               "unscale_ raised: this optimizer has stepped already since the last update()");
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "scaler-double-unscale",
    .severity = "error",
    .harm = Harm::kError,
    .summary = "gradients were to be unscaled twice",
    .thresholds = {},
    .explanation = {.what = "`GradScaler.unscale_` was called a second time for the same optimizer before `update()`, "
                            "or after its `step()`, and raised.",
                    .why = "Gradients that are divided by the scale twice are wrong. Where the error is caught, the "
                           "rest of the step is left out.",
                    .example = R"(import torch

layer = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
with torch.autocast("cpu", dtype=torch.float16):
    loss = layer(torch.randn(4, 8)).sum()
scaler.scale(loss).backward()
scaler.unscale_(optimizer)
try:
    scaler.unscale_(optimizer)
except RuntimeError as error:
    print(error)
scaler.step(optimizer)
scaler.update())",
                    .fix = "One `unscale_` for each optimizer and step.",
                    .fixed_example = R"(import torch

layer = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
with torch.autocast("cpu", dtype=torch.float16):
    loss = layer(torch.randn(4, 8)).sum()
scaler.scale(loss).backward()
scaler.unscale_(optimizer)
scaler.step(optimizer)
scaler.update())",
                    .links = "https://docs.pytorch.org/docs/stable/notes/amp_examples.html#working-with-unscaled-"
                             "gradients"},
    .judge = judge_double_unscale,
};

}  // namespace castscope::rules::scaler_double_unscale
