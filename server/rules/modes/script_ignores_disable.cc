// script-ignores-disable: scripted code switches autocast off for a part of itself, and runs where eager autocast is
// on. The graph leaves these operators alone; eager autocast, which knows nothing of the graph's regions, casts them.
#include "server/rules/modes/mode_facts.h"
#include "server/rules/rules.h"

namespace castscope::rules {
namespace {

void judge_it(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  for (const auto& [line, facts] : mode_facts(data, lanes::FactKind::kScriptIgnoresDisable)) {
    Finding& finding = inquiry.add(facts.first().stack);
    const std::string ops = operators_of(data, facts), place = region_place(data, facts.first());
    finding.title =
        ops + " is cast here, although the scripted code has autocast off" + (place.empty() ? "" : " (" + place + ")");
    finding.evidence_number = {{"casts", casts_of(data, facts)}};
    finding.evidence_text = {{"operators", ops}};
    if (!place.empty()) finding.evidence_text.emplace_back("region", place);
    finding.fix =
        "Call the scripted code outside of eager regions (with torch.autocast(…, enabled=False) around its call), and "
        "open the enabled region inside it, around this one: regions of the script are followed there. Within an eager "
        "region none of the script's switches autocast off.";
  }
}

}  // namespace

extern const Rule script_ignores_disable;
const Rule script_ignores_disable = {
    .name = "script-ignores-disable",
    .severity = "error",
    .summary = "a script switches autocast off, and the region around its call casts all the same",
    .thresholds = {},
    .explanation = {.what = "Scripted code has `with torch.autocast(…, enabled=False)`, and is called within an "
                            "enabled region of eager code.",
                    .why = "TorchScript applies autocast to its graph before it runs, eager autocast to each operator "
                           "while it runs. The first leaves the operator alone, the second casts it: the same code in "
                           "Python computes in float32.",
                    .example = R"(import torch

@torch.jit.script
def product(a, b):
    with torch.autocast("cpu", enabled=False):
        return torch.mm(a, b)

a = torch.randn(8, 8)
with torch.autocast("cpu", dtype=torch.bfloat16):
    print(product(a, a).dtype)  # torch.bfloat16; in Python float32)",
                    .fix = "Both regions in the script, and none around its call.",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html"},
    .judge = judge_it,
};

}  // namespace castscope::rules
