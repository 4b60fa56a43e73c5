// script-dtype-differs: the same line computed in one dtype in Python and in another when TorchScript ran it, scripted
// or traced. Its autocast pass has lists of its own, and brings operands of unknown dtypes to float32 to be safe.
#include <set>

#include "server/rules/dtypes.h"
#include "server/rules/finding.h"
#include "server/rules/modes/mode_differences.h"
#include "server/rules/rules.h"
#include "server/store/names.h"

namespace castscope::rules {
namespace {

void judge_it(Inquiry& inquiry) {
  const ModeDifferences found(inquiry.data, {Mode::kScript, Mode::kTrace});
  for (const auto& [line, differences] : found.first()) {
    const ModeDifference& first = differences.front();
    Finding& finding = inquiry.add(first.other->stack);
    const std::string script(store::dtype_name(first.other->computed)), eager(store::dtype_name(first.eager->computed));
    finding.title =
        operators_of(differences) + " computes in " + script + " where TorchScript runs it, in " + eager + " in Python";
    finding.evidence_text = {{"torchscript", script}, {"python", eager}};
    if (std::string lines = found.followers(differences); !lines.empty())
      finding.evidence_text.emplace_back("and_from_there", std::move(lines));
    finding.deep_only = true;
    finding.fix = is_low(first.eager->computed)
                      ? "If the dtype matters, convert the result in the code (.to(dtype)), or keep this operator out "
                        "of the script: TorchScript's autocast has lists of its own."
                      : "If float32 matters here, convert the arguments in the code (x.float()) within a region with "
                        "enabled=False in the script.";
  }
}

}  // namespace

extern const Rule script_dtype_differs;
const Rule script_dtype_differs = {
    .name = "script-dtype-differs",
    .severity = "error",
    .summary = "a line computes in another dtype in TorchScript than in Python",
    .thresholds = {},
    .explanation = {.what = "The same line ran in Python and by TorchScript, scripted or traced, each in a region, "
                            "and an operator of it computed in different dtypes.",
                    .why = "TorchScript casts by a pass with lists of its own: gelu, layer_norm, sum, log and others "
                           "go to float32 there, on a CPU eager autocast leaves them in bfloat16; add, mul, div and "
                           "stack are brought to float32 wherever the dtypes are not known.",
                    .example = R"(import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = torch.nn.Linear(8, 8), torch.nn.LayerNorm(8)

    def forward(self, x):
        return self.norm(self.linear(x))

net, x = Net(), torch.randn(2, 8)
scripted = torch.jit.script(net)
with torch.autocast("cpu", dtype=torch.bfloat16):
    print(net(x).dtype, scripted(x).dtype)  # bfloat16, float32)",
                    .fix = "Convert where the dtype matters, or leave TorchScript: torch.compile and torch.export "
                           "follow eager autocast.",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html"},
    .judge = judge_it,
};

}  // namespace castscope::rules
