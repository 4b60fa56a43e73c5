// script-drops-decorator: a method that is decorated with autocast was scripted. PyTorch compiles what is below the
// decorator; of functions it says that it cannot take one, of methods it says nothing.
#include "server/rules/modes/mode_facts.h"
#include "server/rules/rules.h"

namespace castscope::rules {
namespace {

void judge_it(Inquiry& inquiry) {
  for (const auto& [line, facts] : mode_facts(inquiry.data, lanes::FactKind::kScriptDropsDecorator)) {
    Finding& finding = inquiry.add(facts.first().stack);
    finding.title = "TorchScript compiles this method without its decorator: the region is not there";
    if (!facts.first().text.empty()) finding.evidence_text = {{"dropped", facts.first().text}};
    finding.fix =
        "Write `with torch.autocast(…):` within the method, or open the region around the call of the script.";
  }
}

}  // namespace

extern const Rule script_drops_decorator;
const Rule script_drops_decorator = {
    .name = "script-drops-decorator",
    .severity = "error",
    .summary = "a scripted method is decorated with autocast, and runs without it",
    .thresholds = {},
    .explanation = {.what = "A module whose method is decorated with `@torch.autocast(…)` went through "
                            "torch.jit.script.",
                    .why = "PyTorch compiles the source below the decorator. A decorated function is refused with a "
                           "message; a method is taken, and computes without the region, or ignores that the "
                           "decorator switches autocast off.",
                    .example = R"(import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    @torch.autocast("cpu", dtype=torch.bfloat16)
    def forward(self, x):
        return self.linear(x)

net, x = Net(), torch.randn(2, 8)
print(net(x).dtype, torch.jit.script(net)(x).dtype)  # bfloat16, float32)",
                    .fix = "`with torch.autocast(\"cpu\", dtype=torch.bfloat16):` within the method.",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html"},
    .judge = judge_it,
};

}  // namespace castscope::rules
