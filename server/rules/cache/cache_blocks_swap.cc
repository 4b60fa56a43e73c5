// cache-blocks-swap: torch.utils.swap_tensors, or a module's conversion that uses it, was refused because something
// holds a weak reference to the weight. Autocast's cache does: it keeps a weak reference to every weight of which it
// has a copy, until the outermost region ends.
//
// The evidence is PyTorch's sentence about weak references of C++, together with weights that went into the cache of
// that process. Its other sentence ("it has weakref associated with it") is about the job's own weakref.ref.
#include "server/rules/evidence/error_facts.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::cache_blocks_swap {
namespace {

constexpr std::string_view kRefused = "Expected no weakrefs to t";

bool has_kept(const store::RunData& data, store::ProcessId process) {
  for (const store::SiteUse& use : data.site_uses)
    if (use.process == process && use.counts.kept > 0) return true;
  return false;
}

void judge_swaps(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const auto has_kept_some = [&](store::ProcessId process) { return has_kept(data, process); };
  for (const ErrorAt& at : errors_saying(data, kRefused, has_kept_some)) {
    Finding& finding = inquiry.add(at.stack);
    finding.title = "a weight cannot be swapped here while the autocast cache holds a copy of it";
    finding.evidence_number = {{"error_count", at.times}};
    finding.evidence_text = {{"error_message", at.text}};
    finding.fix =
        "Convert or swap the weights outside of autocast regions, where the cache is empty; or call "
        "torch.clear_autocast_cache() just before.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "cache-blocks-swap",
    .severity = "warning",
    .harm = Harm::kError,
    .summary = "the autocast cache's reference to a weight keeps it from being swapped",
    .thresholds = {},
    .explanation = {.what = "`torch.utils.swap_tensors`, or `module.to()` with "
                            "`torch.__future__.set_swap_module_params_on_conversion(True)`, raised within an autocast "
                            "region that had already cast the weight.",
                    .why = "The cache keeps a weak reference to each weight that it has a copy of, and tensors with "
                           "weak references cannot be swapped.",
                    .example = R"(import torch

torch.__future__.set_swap_module_params_on_conversion(True)
layer = torch.nn.Linear(8, 8)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = layer(torch.randn(2, 8))
    try:
        layer.to(torch.float64)
    except RuntimeError as error:
        print(error)  # Couldn't swap Linear.weight)",
                    .fix = "Convert the module outside of the region, or call `torch.clear_autocast_cache()` before.",
                    .fixed_example = R"(import torch

torch.__future__.set_swap_module_params_on_conversion(True)
layer = torch.nn.Linear(8, 8)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = layer(torch.randn(2, 8))
layer.to(torch.float64))",
                    .links = "https://docs.pytorch.org/docs/stable/future_mod.html"},
    .judge = judge_swaps,
};

}  // namespace castscope::rules::cache_blocks_swap
