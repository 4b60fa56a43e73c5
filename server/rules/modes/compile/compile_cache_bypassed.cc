// compile-cache-bypassed: an autocast region in compiled code keeps PyTorch's compile cache from being used.
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/mode_facts.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::compile_cache_bypassed {
namespace {

void judge_bypasses(Inquiry& inquiry) {
  for (const auto& [line, facts] : mode_facts(inquiry.data, lanes::FactKind::kCompileBypassesCache)) {
    std::uint64_t times = 0;
    std::string reason;
    for (const store::Fact* fact : facts.facts)
      if (fact->text.find("autocast") != std::string::npos) {
        reason = fact->text;
        ++times;
      }
    if (times == 0) continue;
    Finding& finding = inquiry.add(facts.first().stack);
    finding.title = "code compiled here opens an autocast region inside: PyTorch's compile cache is not used for it";
    finding.evidence_number = {{"graph_count", times}};
    finding.evidence_text = {{"bypass_reason", reason}};
    finding.fix = "Open the region around the calls of the compiled function instead of inside it.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "compile-cache-bypassed",
    .severity = "info",
    .summary = "a region inside compiled code keeps it out of the compile cache",
    .thresholds = {},
    .explanation = {.what =
                        "AOTAutograd could not use its cache between runs for a graph, since it calls the functions "
                        "that open an autocast region.",
                    .why = "Every start of the job traces and partitions this graph again.",
                    .example = R"(import torch

@torch.compile
def product(a):
    with torch.autocast("cpu", dtype=torch.bfloat16):  # inside
        return a @ a

y = product(torch.randn(8, 8)))",
                    .fix = "Open the region around the calls; autocast as it stands around compiled code is part of "
                           "the cache's key.",
                    .fixed_example = R"(import torch

@torch.compile
def product(a):
    return a @ a

with torch.autocast("cpu", dtype=torch.bfloat16):
    y = product(torch.randn(8, 8)))",
                    .links = "https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_tutorial.html"},
    .judge = judge_bypasses,
};

}  // namespace castscope::rules::compile_cache_bypassed
