// trace-caches-weight: torch.jit.trace failed within a region, since autocast's cache served a copy of a weight that
// was made before the trace. To the trace, that copy is a tensor of unknown origin, and one that requires grad.
#include "server/rules/evidence/error_facts.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::trace_caches_weight {
namespace {

constexpr std::string_view kRefused = "Cannot insert a Tensor that requires grad as a constant";

void judge_trace_errors(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  for (const ErrorAt& at : errors_saying(data, kRefused)) {
    if (!is_within_torch(data, at.stack, "jit/_trace.py")) continue;
    Finding& finding = inquiry.add(at.stack);
    finding.title =
        "this cannot be traced in an autocast region: the cache serves a weight that the trace has not seen cast";
    finding.evidence_number = {{"error_count", at.times}};
    finding.evidence_text = {{"error_message", at.text}};
    finding.fix =
        "Trace outside of autocast and open the region around the calls of the trace; or trace with "
        "torch.autocast(…, cache_enabled=False).";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "trace-caches-weight",
    .severity = "error",
    .harm = Harm::kError,
    .summary = "the autocast cache makes torch.jit.trace fail",
    .thresholds = {},
    .explanation = {.what = "A module whose weights require grad was traced within an autocast region that has its "
                            "cache on.",
                    .why = "The copy of a weight that the cache serves was cast before, or outside of the trace. The "
                           "trace would have to keep it as a constant, which it refuses for a tensor that requires "
                           "grad. `torch.no_grad()` does not help.",
                    .example = R"(import torch

layer = torch.nn.Linear(8, 8)
x = torch.randn(2, 8)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = layer(x)
    try:
        z = torch.jit.trace(layer, x)(x)
    except RuntimeError as error:
        print(error))",
                    .fix = "Trace outside of the region, or with `cache_enabled=False`.",
                    .fixed_example = R"(import torch

layer = torch.nn.Linear(8, 8)
x = torch.randn(2, 8)
traced = torch.jit.trace(layer, x)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = layer(x)
    z = traced(x))",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html"},
    .judge = judge_trace_errors,
};

}  // namespace castscope::rules::trace_caches_weight
