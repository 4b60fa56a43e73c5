// cache-in-cudagraph: CUDA graphs were to be captured with autocast's cache on. A replayed graph would use the copies
// of the weights as they were at capture, so torch.cuda.make_graphed_callables refuses.
#include "server/rules/evidence/error_facts.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::cache_in_cudagraph {
namespace {

constexpr std::string_view kRefused = "does not support the autocast caching";

void judge_graphs(Inquiry& inquiry) {
  for (const ErrorAt& at : errors_saying(inquiry.data, kRefused)) {
    Finding& finding = inquiry.add(at.stack);
    finding.title = "CUDA graphs cannot be captured here: the autocast cache is on";
    finding.evidence_number = {{"error_count", at.times}};
    finding.evidence_text = {{"error_message", at.text}};
    finding.fix =
        "Pass cache_enabled=False to the autocast region around the capture: a replayed graph would else use the "
        "weights as they were when it was captured.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "cache-in-cudagraph",
    .severity = "error",
    .harm = Harm::kResults,
    .summary = "CUDA graphs are captured with the autocast cache on",
    .thresholds = {},
    .explanation = {.what = "`torch.cuda.make_graphed_callables` was called within an autocast region whose cache is "
                            "on, and raised.",
                    .why = "A captured graph would hold the low-precision copies of the weights as they were at "
                           "capture, and replay them after each optimizer step.",
                    .example = R"(import torch

torch.set_autocast_enabled("cuda", True)  # as `with torch.autocast("cuda")` does where there is a GPU
try:
    torch.cuda.make_graphed_callables(torch.nn.Linear(8, 8), (torch.randn(2, 8),))
except RuntimeError as error:
    print(error))",
                    .fix = "Pass `cache_enabled=False` to the region around the capture.",
                    .fixed_example = R"(import torch

torch.set_autocast_enabled("cuda", True)
torch.set_autocast_cache_enabled(False)  # as cache_enabled=False does
torch.cuda.make_graphed_callables(torch.nn.Linear(8, 8), (torch.randn(2, 8),)))",
                    .links = "https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs"},
    .judge = judge_graphs,
};

}  // namespace castscope::rules::cache_in_cudagraph
