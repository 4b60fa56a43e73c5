// op-banned: an operator that autocast refuses in a region, since its result would be wrong in a half: binary_cross_
// entropy on a GPU.
#include "server/rules/amp_handle.h"
#include "server/rules/errors/error_facts.h"
#include "server/rules/rules.h"

namespace castscope::rules {
namespace {

void judge_bans(Inquiry& inquiry) {
  for (const ErrorAt& at : errors_about(inquiry.data, ErrorTopic::kBanned)) {
    Finding& finding = inquiry.add(at.stack);
    const bool entropy = at.text.find("binary_cross_entropy") != std::string::npos;
    const std::string op = entropy ? "binary_cross_entropy" : operator_of(inquiry.data, at);
    finding.title = op + " raised: autocast refuses it in a region, as unsafe in a half dtype";
    tell_error(inquiry.data, at, finding);
    const std::uint32_t region = at.use == 0 ? 0 : inquiry.data.operator_use(at.use).region;
    const std::string off = turned_off(inquiry.data, region);
    finding.fix =
        entropy ? "Use binary_cross_entropy_with_logits (BCEWithLogitsLoss) on the output before the sigmoid; or leave "
                  "autocast for the loss: with " +
                      off + ": loss = bce(p.float(), target)."
                : "Leave autocast for this operator (with " + off + ") and give it float32 arguments (x.float()).";
  }
}

}  // namespace

extern const Rule op_banned;
const Rule op_banned = {
    .name = "op-banned",
    .severity = "error",
    .summary = "an operator that autocast refuses was called in a region",
    .thresholds = {},
    .explanation = {.what = "`binary_cross_entropy` (or `BCELoss`) was called in an enabled region on a GPU, and "
                            "autocast raised.",
                    .why = "Its backward computes values that float16 cannot hold, whatever loss scaling does. On a "
                           "CPU it runs in float32, so that the error appears only when the job moves to a GPU.",
                    .example = R"(# Autocast refuses it on a GPU only: on a CPU nothing is found.
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
layer = torch.nn.Linear(8, 1).to(device)
with torch.autocast(device, dtype=torch.bfloat16):
    p = torch.sigmoid(layer(torch.randn(4, 8, device=device)))
    try:
        torch.nn.functional.binary_cross_entropy(p, torch.ones_like(p))
    except RuntimeError as error:
        print(error))",
                    .fix = "`binary_cross_entropy_with_logits` on the output before the sigmoid.",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#prefer-binary-cross-entropy-with-logits-"
                             "over-binary-cross-entropy"},
    .judge = judge_bans,
};

}  // namespace castscope::rules
