// trace-drops-region: traced code calls scripted code within a region of its own. Eager operators in such a region are
// cast while they are traced, and the casts stay in the trace; scripted code is put into the trace as it is.
#include "server/rules/evidence/mode_facts.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::trace_drops_region {
namespace {

void judge_dropped_regions(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  for (const auto& [line, facts] : mode_facts(data, lanes::FactKind::kTraceDropsRegion)) {
    Finding& finding = inquiry.add(facts.first().stack);
    finding.title = "the function traced here calls scripted code in an autocast region" +
                    region_in_title(data, facts) + ", which the trace drops";
    finding.evidence_number = {{"region_count", facts.times}};
    add_region(finding, data, facts);
    finding.fix =
        "Open the region around the traced function's calls instead of inside it, or script both functions. The trace "
        "then computes in the region's dtype.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "trace-drops-region",
    .severity = "error",
    .harm = Harm::kPrecision,
    .summary = "a trace dropped the region around a call of scripted code",
    .thresholds = {},
    .explanation = {.what = "Within `with torch.autocast(…)` a traced function calls a scripted one.",
                    .why = "`torch.jit.trace` records the call, not the region, and says nothing but a general "
                           "warning: the scripted code runs in float32 in the trace, in low precision in Python.",
                    .example = R"(import torch

@torch.jit.script
def product(a, b):
    return torch.mm(a, b)

def helper(a, b):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return product(a, b)

a = torch.randn(8, 8)
traced = torch.jit.trace(helper, (a, a), check_trace=False)
y, z = helper(a, a), traced(a, a)
print(y.dtype, z.dtype)  # bfloat16, float32)",
                    .fix =
                        "Open the region around the calls of the traced function, which then computes in the region's "
                        "dtype.",
                    .fixed_example = R"(import torch

@torch.jit.script
def product(a, b):
    return torch.mm(a, b)

def helper(a, b):
    return product(a, b)

a = torch.randn(8, 8)
traced = torch.jit.trace(helper, (a, a), check_trace=False)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y, z = helper(a, a), traced(a, a)
print(y.dtype, z.dtype)  # bfloat16, bfloat16)",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html"},
    .judge = judge_dropped_regions,
};

}  // namespace castscope::rules::trace_drops_region
