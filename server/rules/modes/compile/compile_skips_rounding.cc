// compile-skips-rounding: a fused kernel keeps results in float32 that eager code rounds to lower precision.
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/mode_facts.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::compile_skips_rounding {
namespace {

// The lines are the user's own, since nobody can change PyTorch's (the optimizer's, a module's).
void judge_rounding(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const auto lines = mode_facts(data, lanes::FactKind::kCompileSkipsRounding);
  const ModeFacts* most = nullptr;
  std::uint64_t values = 0;
  for (const auto& [line, facts] : lines) {
    values += facts.times;
    if (most == nullptr || facts.times > most->times) most = &facts;
  }
  if (most == nullptr) return;
  Finding& finding = inquiry.add(most->first().stack);
  finding.title = "compiled code does not round " + counted(values, "result") +
                  " that eager code rounds: " + counted(lines.size(), "line") + ", this one first";
  finding.evidence_number = {
      {"unrounded_results", values}, {"line_count", lines.size()}, {"unrounded_results_here", most->times}};
  finding.fix =
      "Nothing is wrong. To compare with eager code bit by bit, set "
      "torch._inductor.config.emulate_precision_casts = True before the code is compiled: it then rounds as often as "
      "eager code, and is as far from float32.";
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "compile-skips-rounding",
    .severity = "info",
    .summary = "fused kernels keep intermediate results in float32",
    .thresholds = {},
    .explanation =
        {.what = "Operators on bfloat16 or float16 were fused into one kernel, which computes in float32 and "
                 "rounds where it stores.",
         .why = "Compiled results differ from eager ones, and are the more exact ones: a comparison of the "
                "two with a tight tolerance fails.",
         .example = R"(import torch

@torch.compile
def gate(a):
    z = (a @ a).sigmoid()
    return torch.exp(z * 3) - z

with torch.autocast("cpu", dtype=torch.bfloat16):
    y = gate(torch.randn(8, 8)))",
         .fix = "torch._inductor.config.emulate_precision_casts = True rounds as eager code does, and is as far "
                "from float32.",
         .fixed_example = R"(import torch

torch._inductor.config.emulate_precision_casts = True

@torch.compile
def gate(a):
    z = (a @ a).sigmoid()
    return torch.exp(z * 3) - z

with torch.autocast("cpu", dtype=torch.bfloat16):
    y = gate(torch.randn(8, 8)))",
         .links = "https://docs.pytorch.org/docs/stable/torch.compiler_faq.html"},
    .judge = judge_rounding,
};

}  // namespace castscope::rules::compile_skips_rounding
