// script-ignores-dtype: a region of scripted code takes its dtype from a value that is known at run time only. The pass
// that applies autocast to the graph takes the device's default instead, and says nothing.
//
// The fact's text names other cases: "frozen", a constant that is not yet known when torch.jit.freeze applies autocast;
// "called", casts in code that is called from the region and was compiled for another one.
#include "server/rules/evidence/mode_facts.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::script_ignores_dtype {
namespace {

void judge_ignored_dtypes(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  for (const auto& [line, facts] : mode_facts(data, lanes::FactKind::kScriptIgnoresDtype)) {
    Finding& finding = inquiry.add(facts.first().stack);
    const std::string taken(store::dtype_name(static_cast<std::uint8_t>(facts.first().detail)));
    finding.evidence_text = {{"to_dtype", taken}};
    if (facts.first().text == "called") {
      finding.title = "what is called in this scripted region casts to " + taken + ", the dtype of the region around";
      finding.fix =
          "Call the script outside of other regions, or leave this one out: what it calls was prepared for the "
          "region that it was first called in.";
    } else {
      const bool frozen = facts.first().text == "frozen";
      finding.title = "the dtype of this scripted region is ignored: it casts to " + taken +
                      (frozen ? " once the script is frozen" : " whatever is passed");
      finding.fix =
          frozen ? "Open the region around the call of the frozen script, or convert the model before it is "
                   "frozen: torch.jit.freeze applies autocast before it has worked out the dtype."
                 : "Write the dtype as a constant (dtype=torch.float16) in place of the argument, one region for "
                   "each.";
    }
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "script-ignores-dtype",
    .severity = "error",
    .harm = Harm::kPrecision,
    .summary = "the dtype of a region in a script is not the one that it casts to",
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
y = product(a, a, torch.float16)
print(y.dtype)  # torch.bfloat16)",
                    .fix = "Write a constant dtype in place of the argument.",
                    .fixed_example = R"(import torch

@torch.jit.script
def product(a, b):
    with torch.autocast("cpu", dtype=torch.float16):
        return torch.mm(a, b)

a = torch.randn(8, 8)
y = product(a, a)
print(y.dtype)  # torch.float16)",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html"},
    .judge = judge_ignored_dtypes,
};

}  // namespace castscope::rules::script_ignores_dtype
