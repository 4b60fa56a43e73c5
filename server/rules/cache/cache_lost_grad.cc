// cache-lost-grad: with grad mode on, the autocast cache served a copy without a graph of a weight that requires grad:
// the copy was made while grad mode was off (a pass under no_grad earlier in the region). The weight gets no gradient
// from there. PyTorch fixed this; the rule judges the copies that were served, so it is silent where PyTorch has the
// fix.
#include "server/rules/cache/served_copies.h"
#include "server/rules/evidence/amp_handle.h"
#include "server/rules/evidence/weights.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::cache_lost_grad {
namespace {

void judge_lost_gradients(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const auto any = [](const store::Site&) { return true; };
  for (const auto& [place, served] : served_copies(data, lanes::FactKind::kLostGrad, any)) {
    Finding& finding = inquiry.add(served.stack);
    finding.title = subject_of(served.sources) +
                    " used here without a gradient: autocast serves the copy that it made while grad mode was off";
    finding.evidence_number = {{"gradless_cache_hits", served.times}, {"weight_count", served.sources.size()}};
    finding.evidence_text = {{"weight", first_of(served.sources)}};
    add_opening_place(data, served.region, finding);
    const auto handle = amp_handle_around(data, served.region);
    finding.fix = (handle ? "Call " + clearing_the_cache(*handle) + " after the pass without gradients"
                          : std::string("Give the pass without gradients an autocast region of its own, or call "
                                        "torch.clear_autocast_cache() after it")) +
                  "; newer versions of PyTorch give the copy its graph.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "cache-lost-grad",
    .severity = "error",
    .harm = Harm::kResults,
    .summary = "the autocast cache serves a weight's copy that no gradient flows through",
    .thresholds = {},
    .explanation = {.what = "A weight was first cast under `torch.no_grad()`, and then used with gradients in the same "
                            "autocast region: the cache served the copy that has no graph.",
                    .why = "The weight gets no gradient from that use, and is not trained by it. PyTorch 2.13 gives "
                           "the copy its graph; older versions did not.",
                    .example = R"(# PyTorch 2.13 serves no such copy any more: nothing is found with it.
import torch

layer = torch.nn.Linear(8, 1)
with torch.autocast("cpu", dtype=torch.bfloat16):
    with torch.no_grad():
        layer(torch.randn(4, 8))  # cast here, without a graph
    loss = layer(torch.randn(4, 8)).float().sum()
loss.backward()
print(layer.weight.grad)  # None where the copy was served)",
                    .fix = "Give the pass without gradients a region of its own, or call "
                           "`torch.clear_autocast_cache()` after it.",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_lost_gradients,
};

}  // namespace castscope::rules::cache_lost_grad
