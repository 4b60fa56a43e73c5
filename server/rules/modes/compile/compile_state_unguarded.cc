// compile-state-unguarded: compiled code has a region without a dtype of its own, and the default dtype that it took
// when it was compiled has changed since.
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/mode_facts.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::compile_state_unguarded {
namespace {

void judge_defaults(Inquiry& inquiry) {
  for (const auto& [line, facts] : mode_facts(inquiry.data, lanes::FactKind::kCompileStateUnguarded)) {
    Finding& finding = inquiry.add(facts.first().stack);
    const std::string dtype(store::dtype_name(static_cast<std::uint8_t>(facts.first().detail)));
    finding.title = "this region was compiled with the default dtype " + dtype +
                    "; the default has changed since, the compiled code has not";
    finding.evidence_number = {{"casts", facts.times}};
    finding.evidence_text = {{"compiled_with_dtype", dtype}};
    finding.fix = "Give the region its dtype: torch.autocast(…, dtype=torch." + dtype +
                  "). Or set the default before the code is compiled, once.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "compile-state-unguarded",
    .severity = "error",
    .harm = Harm::kResults,
    .summary = "compiled code goes on with an old autocast default after the default has been changed",
    .thresholds = {},
    .explanation = {.what = "A region in compiled code has no dtype. The default for its device "
                            "(torch.set_autocast_dtype) was read when the code was compiled, and is another when it "
                            "runs.",
                    .why = "No guard checks the default, so nothing is recompiled: eager code computes in the new "
                           "default, compiled code in the old one.",
                    .example = R"(import torch

@torch.compile(backend="aot_eager")
def product(a):
    with torch.autocast("cpu"):
        return a @ a

y = product(torch.randn(8, 8))
torch.set_autocast_dtype("cpu", torch.float16)
z = product(torch.randn(8, 8))
print(z.dtype)  # bfloat16; eager code: float16)",
                    .fix = "Name the dtype where the region is opened.",
                    .fixed_example = R"(import torch

@torch.compile(backend="aot_eager")
def product(a):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return a @ a

y = product(torch.randn(8, 8))
torch.set_autocast_dtype("cpu", torch.float16)
z = product(torch.randn(8, 8))
print(z.dtype)  # bfloat16, as in eager code)",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html"},
    .judge = judge_defaults,
};

}  // namespace castscope::rules::compile_state_unguarded
