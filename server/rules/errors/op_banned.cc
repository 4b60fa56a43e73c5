// op-banned: autocast refuses an operator in a region, since its result would be wrong in a half (binary_cross_entropy
// on a GPU), or the enforced policy bans it. Under a policy that runs the operator in float32 instead nothing raises,
// so there is no finding.
#include "server/rules/evidence/amp_handle.h"
#include "server/rules/evidence/bans.h"
#include "server/rules/evidence/error_facts.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::op_banned {
namespace {

std::string fix_for(const Ban& ban, const std::string& off) {
  const std::string fix =
      ban.op == "binary_cross_entropy"
          ? "Use binary_cross_entropy_with_logits (BCEWithLogitsLoss) on the output before the sigmoid; or leave "
            "autocast for the loss: with " +
                off + ": loss = bce(p.float(), target)."
          : "Leave autocast for this operator (with " + off + ") and give it float32 arguments (x.float()).";
  if (ban.policy.empty()) return fix;
  return fix + " Where float32 is enough, the policy can say so instead: \"operators\": {\"fp32\": [\"" +
         (ban.op.empty() ? "…" : ban.op) + "\"]}.";
}

void judge_bans(Inquiry& inquiry) {
  for (const ErrorAt& at : errors_about(inquiry.data, ErrorTopic::kBanned)) {
    Finding& finding = inquiry.add(at.stack);
    const Ban ban = ban_in(inquiry.data, at.text).value_or(Ban());
    const std::string op = ban.op.empty() ? operator_of(inquiry.data, at) : ban.op;
    finding.title = op + (ban.policy.empty() ? " raised: autocast refuses it in a region, as unsafe in a half dtype"
                                             : " raised: the policy " + ban.policy + " bans it in a region");
    add_error_evidence(inquiry.data, at, finding);
    if (!ban.policy.empty()) finding.evidence_text.emplace_back("policy", ban.policy);
    const store::RegionId region = at.use == 0 ? store::RegionId() : inquiry.data.operator_uses[at.use].region;
    finding.fix = fix_for(ban, turned_off(inquiry.data, region));
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "op-banned",
    .severity = "error",
    .harm = Harm::kError,
    .summary = "an operator that autocast refuses was called in a region",
    .thresholds = {},
    .explanation = {.what = "`binary_cross_entropy` (or `BCELoss`) was called in an enabled region on a GPU, and "
                            "autocast raised; or an operator that the policy bans which castscope enforced.",
                    .why = "Its backward computes values that float16 cannot hold, whatever loss scaling does. On a "
                           "CPU it runs in float32, so that the error appears only when the job moves to a GPU.",
                    .example = R"(# On a CPU with --enforce apex-o1-any; on a GPU autocast refuses it by itself.
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
layer = torch.nn.Linear(8, 1).to(device)
try:
    with torch.autocast(device, dtype=torch.bfloat16):
        h = layer(torch.randn(4, 8, device=device))
        loss = torch.nn.functional.binary_cross_entropy(torch.sigmoid(h), torch.ones_like(h))
    loss.backward()
except RuntimeError as error:
    print(error))",
                    .fix = "`binary_cross_entropy_with_logits` on the output before the sigmoid.",
                    .fixed_example = R"(# On a CPU with --enforce apex-o1-any; on a GPU autocast refuses it by itself.
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
layer = torch.nn.Linear(8, 1).to(device)
with torch.autocast(device, dtype=torch.bfloat16):
    h = layer(torch.randn(4, 8, device=device))
    loss = torch.nn.functional.binary_cross_entropy_with_logits(h, torch.ones_like(h))
loss.backward())",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#prefer-binary-cross-entropy-with-logits-"
                             "over-binary-cross-entropy"},
    .judge = judge_bans,
};

}  // namespace castscope::rules::op_banned
