// script-ignores-dtype: a region of scripted code takes its dtype from a value that is known at run time only. The pass
// that applies autocast to the graph takes the device's default instead, and says nothing.
#include "server/rules/modes/mode_facts.h"
#include "server/rules/rules.h"
#include "server/store/names.h"

namespace castscope::rules {
namespace {

void judge_it(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  for (const auto& [line, facts] : mode_facts(data, lanes::FactKind::kScriptIgnoresDtype)) {
    Finding& finding = inquiry.add(facts.first().stack);
    const std::string taken(store::dtype_name(static_cast<std::uint8_t>(facts.first().detail)));
    finding.title = "the dtype of this scripted region is ignored: it casts to " + taken + " whatever is passed";
    finding.evidence_text = {{"taken", taken}};
    finding.fix = "Write the dtype as a constant (dtype=torch.float16), one region for each.";
  }
}

}  // namespace

extern const Rule script_ignores_dtype;
const Rule script_ignores_dtype = {
    .name = "script-ignores-dtype",
    .severity = "error",
    .summary = "the dtype of a region in a script is known at run time only, and ignored",
    .thresholds = {},
    .explanation = {.what = "Scripted code has `with torch.autocast(…, dtype=dtype)` where `dtype` is an argument or "
                            "an attribute that may change.",
                    .why = "TorchScript applies autocast to the graph before it runs: it needs a constant, and takes "
                           "the default of the device where it finds none. There is no error.",
                    .example = R"(import torch

@torch.jit.script
def product(a, b, dtype: torch.dtype):
    with torch.autocast("cpu", dtype=dtype):
        return torch.mm(a, b)

a = torch.randn(8, 8)
print(product(a, a, torch.float16).dtype)  # torch.bfloat16)",
                    .fix = "A constant dtype.",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html"},
    .judge = judge_it,
};

}  // namespace castscope::rules
