// cache-blocks-swap: torch.utils.swap_tensors, or a module's conversion that uses it, was refused because something
// holds a weak reference to the weight, and autocast's cache does: it keeps one to every weight that it has a copy of,
// until the outermost region ends.
//
// PyTorch's sentence about weak references of C++ is the evidence, together with weights that went into the cache of
// that process; its other sentence ("it has weakref associated with it") is about the job's own weakref.ref.
#include <map>

#include "server/rules/finding.h"

namespace castscope::rules {
namespace {

constexpr std::string_view kRefused = "Expected no weakrefs to t";

bool has_kept(const store::RunData& data, std::uint32_t process) {
  for (const store::SiteUse& use : data.site_uses)
    if (use.process == process && use.counts.kept > 0) return true;
  return false;
}

void judge_swaps(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  struct Group {
    std::uint32_t stack = 0;
    std::uint64_t times = 0;
    std::string message;
  };
  std::map<std::pair<std::string, std::int64_t>, Group> places;
  for (const store::FactCount& count : data.fact_counts) {
    const store::Fact& fact = data.fact(count.fact);
    const bool refused = fact.kind == lanes::FactKind::kError && fact.text.find(kRefused) != std::string::npos;
    if (!refused || count.times == 0 || !has_kept(data, count.process)) continue;
    const store::CodeLocation at = data.user_location(fact.stack).value_or(store::CodeLocation());
    Group& group = places[{at.file, at.line}];
    if (group.stack == 0) group.stack = fact.stack;
    group.times += count.times;
    if (group.message.empty()) group.message = fact.text;
  }
  for (const auto& [place, group] : places) {
    Finding& finding = inquiry.add(group.stack);
    finding.title = "a weight cannot be swapped here while the autocast cache holds a copy of it";
    finding.evidence_number = {{"errors", group.times}};
    finding.evidence_text = {{"error", group.message}};
    finding.fix =
        "Convert or swap the weights outside of autocast regions, before they are first used in one; or call "
        "torch.clear_autocast_cache() just before.";
  }
}

}  // namespace

extern const Rule cache_blocks_swap;
const Rule cache_blocks_swap = {
    .name = "cache-blocks-swap",
    .severity = "warning",
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
    layer(torch.randn(2, 8))
    try:
        layer.to(torch.float64)
    except RuntimeError as error:
        print(error)  # Couldn't swap Linear.weight)",
                    .fix = "Convert the module outside of the region, or call `torch.clear_autocast_cache()` before.",
                    .links = "https://docs.pytorch.org/docs/stable/future_mod.html"},
    .judge = judge_swaps,
};

}  // namespace castscope::rules
