// dtype-mixed-halves: an operator for which autocast takes the widest dtype of its arguments got float16 and bfloat16,
// neither of which is wider.
#include "server/rules/evidence/error_facts.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::dtype_mixed_halves {
namespace {

void judge_mixtures(Inquiry& inquiry) {
  for (const ErrorAt& at : errors_about(inquiry.data, ErrorTopic::kMixedHalves)) {
    Finding& finding = inquiry.add(at.stack);
    finding.title = operator_of(inquiry.data, at) +
                    " raised: autocast found float16 and bfloat16 among its arguments, and neither is the wider";
    add_error_evidence(inquiry.data, at, finding);
    finding.fix =
        "Leave out .half() and .bfloat16(), and let autocast choose the dtype; or bring the odd one to the dtype of "
        "the others before this call.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "dtype-mixed-halves",
    .severity = "error",
    .harm = Harm::kError,
    .summary = "float16 and bfloat16 met in an operator that takes the widest dtype",
    .thresholds = {},
    .explanation = {.what = "An operator such as `cat` or `stack`, which autocast runs in the widest dtype of its "
                            "arguments, got float16 and bfloat16 together and raised.",
                    .why = "Neither of the two can hold the other's values. They come together where regions of both "
                           "dtypes are used, or a tensor was made a half by hand.",
                    .example = R"(import torch

a, b = torch.randn(4).half(), torch.randn(4).bfloat16()
with torch.autocast("cpu", dtype=torch.bfloat16):
    try:
        y = torch.cat([a, b])
    except RuntimeError as error:
        print(error))",
                    .fix =
                        "Leave out `.half()` and `.bfloat16()` where autocast chooses the dtype, or use one half dtype "
                        "throughout.",
                    .fixed_example = R"(import torch

a, b = torch.randn(4), torch.randn(4)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = torch.cat([a, b]))",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#cpu-ops-that-promote-to-the-widest-input-"
                             "type"},
    .judge = judge_mixtures,
};

}  // namespace castscope::rules::dtype_mixed_halves
