// cache-stale-weight: the autocast cache served the copy of a weight that had changed since it was cast. The cache is
// emptied only when the outermost region ends, so code that runs later in the region does not see changes of weights
// within it (an optimizer step, load_state_dict, an average swapped in).
//
// The weight's values show whether it changed (Staleness): a write that leaves them equal harms nobody, and version
// counters miss some writes. cache-holds-input reports inputs that change.
#include "server/rules/cache/served_copies.h"
#include "server/rules/evidence/amp_handle.h"
#include "server/rules/evidence/weights.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::cache_stale_weight {
namespace {

std::string fix_for(const std::optional<AmpHandle>& handle) {
  if (handle)
    return "Call backward by `with " + scaled_loss(*handle) +
           " as scaled_loss:`, after which copies of weights are forgotten, here and after the step. After any other "
           "change of the weights call " +
           clearing_the_cache(*handle) + ". Without copies (" + without_the_cache(*handle) +
           ") each weight would be cast again at each use.";
  return "End the autocast region before the weights change: open it around each forward pass, not around the loop. "
         "Where it must stay open, call torch.clear_autocast_cache() after each change. With cache_enabled=False each "
         "weight would be cast again at each use.";
}

void judge_stale_weights(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const auto is_weight = [](const store::Site& site) { return site.role != lanes::Role::kInput; };
  for (const auto& [place, served] : served_copies(data, lanes::FactKind::kStaleHit, is_weight)) {
    Finding& finding = inquiry.add(served.stack);
    finding.title =
        subject_of(served.sources) + " out of date here: autocast serves a copy that it made before the last change";
    finding.evidence_number = {{"stale_cache_hits", served.times}, {"weight_count", served.sources.size()}};
    finding.evidence_text = {{"weight", first_of(served.sources)}, {"changed_by", changes_text(served.changes)}};
    add_opening_place(data, served.region, finding);
    finding.fix = fix_for(amp_handle_around(data, served.region));
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "cache-stale-weight",
    .severity = "error",
    .harm = Harm::kResults,
    .summary = "the autocast cache serves a weight as it was before it changed",
    .thresholds = {},
    .explanation = {.what = "A weight changed while an autocast region was open, and the region went on with the copy "
                            "that it had made before.",
                    .why = "Autocast keeps the low-precision copy of a weight until the outermost region ends. What "
                           "an optimizer step, `load_state_dict` or a swap of averaged weights does within the region "
                           "is not seen by the passes after it: training stands still without a message.",
                    .example = R"(import torch

layer = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
x, y = torch.randn(16, 8), torch.randn(16, 1)
with torch.autocast("cpu", dtype=torch.bfloat16):  # open for the whole loop
    for _ in range(5):
        loss = torch.nn.functional.mse_loss(layer(x).float(), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())  # the same each time)",
                    .fix = "Open the region around each forward pass. Where it has to stay open, call "
                           "`torch.clear_autocast_cache()` after each change of the weights. With "
                           "`cache_enabled=False` each weight would be cast again at each use.",
                    .fixed_example = R"(import torch

layer = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
x, y = torch.randn(16, 8), torch.randn(16, 1)
for _ in range(5):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = torch.nn.functional.mse_loss(layer(x).float(), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item()))",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_stale_weights,
};

}  // namespace castscope::rules::cache_stale_weight
