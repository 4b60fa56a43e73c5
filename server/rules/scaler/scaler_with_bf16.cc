// scaler-with-bf16: gradients are scaled although every region of the process is bfloat16, which has the range of
// float32.
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/inquiry/rule.h"
#include "server/rules/scaler/scaler_facts.h"

namespace castscope::rules::scaler_with_bf16 {
namespace {

// Returns where the job uses the scaler: its step, or else whatever it called.
const store::Fact* scaler_call(const store::RunData& data, store::ProcessId process) {
  const auto step = [](const store::Fact& fact) {
    return fact.kind == lanes::FactKind::kOptimizerStep && fact.detail == 1;
  };
  if (const store::Fact* fact = first_seen(data, process, step)) return fact;
  using enum lanes::FactKind;
  for (const lanes::FactKind kind : {kUnscale, kUpdate, kScale})
    if (const store::Fact* fact = first_seen(data, process, of_kind(kind))) return fact;
  return nullptr;
}

void judge_bf16(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  std::set<Line> told;
  for (const store::ScalerUse& use : data.scaler_uses) {
    if (!scales_gradients(data, use.process) || region_dtypes(data, use.process) != std::set<std::uint8_t>{kBrain})
      continue;
    const store::Fact* call = scaler_call(data, use.process);
    if (call == nullptr || !told.insert(line_of(data, call->stack)).second) continue;
    Finding& finding = inquiry.add(call->stack);
    finding.title = "gradients are scaled for bfloat16, which needs no scaling";
    finding.evidence_number = {{"unscales", use.unscales}, {"updates", use.updates}};
    finding.evidence_text = {{"region_dtype", "bfloat16"}};
    if (use.last_scale > 0) finding.evidence_text.emplace_back("last_scale", readable_number(use.last_scale));
    finding.fix =
        "Leave GradScaler out, or make it GradScaler(enabled=dtype == torch.float16): bfloat16 has the range of "
        "float32, and each step through the scaler checks all gradients and waits for the answer.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "scaler-with-bf16",
    .severity = "info",
    .summary = "GradScaler is used though autocast runs in bfloat16",
    .thresholds = {},
    .sees = kEvents,
    .explanation = {.what = "GradScaler scales the loss and checks the gradients, while all autocast regions of the "
                            "process are bfloat16.",
                    .why = "Scaling keeps gradients within float16's range. bfloat16 has the range of float32: scaling "
                           "does no harm, and costs a check of all gradients and a wait in each step.",
                    .example = R"(import torch

layer = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
with torch.autocast("cpu", dtype=torch.bfloat16):
    loss = layer(torch.randn(4, 8)).sum()
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update())",
                    .fix = "`GradScaler(enabled=dtype == torch.float16)`.",
                    .fixed_example = R"(import torch

layer = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
with torch.autocast("cpu", dtype=torch.bfloat16):
    loss = layer(torch.randn(4, 8)).sum()
loss.backward()
optimizer.step())",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling"},
    .judge = judge_bf16,
};

}  // namespace castscope::rules::scaler_with_bf16
