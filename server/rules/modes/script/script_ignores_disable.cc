// script-ignores-disable: scripted code switches autocast off for a part of itself, and runs where eager autocast is
// on. TorchScript's graph leaves the operators of that part alone; eager autocast, which does not know the graph's
// regions, casts them.
#include <algorithm>

#include "server/rules/evidence/mode_facts.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::script_ignores_disable {
namespace {

// Returns "is cast" where eager autocast casts down, and "are brought to float32" where it casts up the operators that
// it holds in float32.
std::string what_happens(const store::RunData& data, const ModeFacts& facts, bool several) {
  const bool all_up = std::ranges::all_of(facts.facts, [&](const store::Fact* fact) {
    return fact->subject != 0 && data.sites[store::SiteId(fact->subject)].to == kFloat;
  });
  return std::string(several ? " are " : " is ") + (all_up ? "brought to float32" : "cast");
}

void judge_ignored_disables(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  for (const auto& [line, facts] : mode_facts(data, lanes::FactKind::kScriptIgnoresDisable)) {
    Finding& finding = inquiry.add(facts.first().stack);
    const std::string ops = operators_of(data, facts);
    finding.title = ops + what_happens(data, facts, ops.find(", ") != ops.npos) +
                    " here, although the scripted code has autocast off" + region_in_title(data, facts);
    add_casts(finding, data, facts);
    finding.fix = call_with_autocast_off(device_of(data, facts));
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "script-ignores-disable",
    .severity = "error",
    .harm = Harm::kPrecision,
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
    y = product(a, a)
print(y.dtype)  # torch.bfloat16; in Python float32)",
                    .fix = "Autocast off around the call, in Python: `with torch.autocast(\"cpu\", enabled=False):`.",
                    .fixed_example = R"(import torch

@torch.jit.script
def product(a, b):
    with torch.autocast("cpu", enabled=False):
        return torch.mm(a, b)

a = torch.randn(8, 8)
with torch.autocast("cpu", dtype=torch.bfloat16):
    with torch.autocast("cpu", enabled=False):
        y = product(a, a)
print(y.dtype)  # torch.float32)",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html"},
    .judge = judge_ignored_disables,
};

}  // namespace castscope::rules::script_ignores_disable
