// scaler-fp16-params: the model's parameters are float16 themselves, so that their gradients are, and GradScaler
// refuses to unscale these.
#include "server/rules/evidence/error_facts.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::scaler_fp16_params {
namespace {

void judge_fp16_params(Inquiry& inquiry) {
  for (const ErrorAt& at : errors_saying(inquiry.data, "Attempting to unscale FP16 gradients")) {
    Finding& finding = inquiry.add(at.stack);
    finding.title = "GradScaler raised: the parameters, and so their gradients, are float16";
    add_error_evidence(inquiry.data, at, finding);
    finding.fix =
        "Keep the parameters in float32 (no model.half(), no torch_dtype=torch.float16 when it is loaded for training) "
        "and let autocast make the float16 copies.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "scaler-fp16-params",
    .severity = "error",
    .harm = Harm::kError,
    .summary = "GradScaler cannot unscale the gradients of float16 parameters",
    .thresholds = {},
    .explanation = {.what = "`GradScaler.step` or `unscale_` met gradients in float16 and raised: the parameters "
                            "themselves are float16.",
                    .why = "Unscaled gradients are too small for float16, which is why they were scaled. Autocast "
                           "keeps parameters and their gradients in float32.",
                    .example = R"(import torch

layer = torch.nn.Linear(8, 1).half()
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
with torch.autocast("cpu", dtype=torch.float16):
    loss = layer(torch.randn(4, 8)).sum()
scaler.scale(loss).backward()
try:
    scaler.step(optimizer)
except ValueError as error:
    print(error)  # Attempting to unscale FP16 gradients.)",
                    .fix = "Load and keep the model in float32.",
                    .fixed_example = R"(import torch

layer = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
with torch.autocast("cpu", dtype=torch.float16):
    loss = layer(torch.randn(4, 8)).sum()
scaler.scale(loss).backward()
scaler.step(optimizer))",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling"},
    .judge = judge_fp16_params,
};

}  // namespace castscope::rules::scaler_fp16_params
