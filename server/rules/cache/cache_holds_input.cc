// cache-holds-input: the autocast cache takes any float32 leaf that requires grad, so also inputs (an adversarial
// example, an optimised prompt). Two things go wrong with that: an input that is changed in place between two uses is
// served as it was before, and inputs that are made anew for each use stay in memory, each with its copy, until the
// outermost region ends.
//
// Not a finding: an input that several layers use unchanged (the cache helps), and one input per region.
#include <map>

#include "server/rules/cache/kept_entries.h"
#include "server/rules/cache/served_copies.h"
#include "server/rules/evidence/amp_handle.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/weights.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::cache_holds_input {
namespace {

// An attack of ten iterations within one region holds ten inputs for a moment, which troubles nobody. 16 is the number
// for weights, too (cache-grows).
constexpr Threshold kThresholds[] = {
    {"inputs", 16, "a line whose inputs put fewer entries into the cache in one region is ordinary code"}};

std::string fix_for(const std::optional<AmpHandle>& handle) {
  const std::string no_leaf =
      "; or give the model a tensor that is not a leaf (x + 0), whose copy is not kept. With no cache at all (";
  const std::string cost = ") each weight, too, would be cast again at each use.";
  if (handle)
    return "Call " + clearing_the_cache(*handle) + " after each pass" + no_leaf + without_the_cache(*handle) + cost;
  return "Open the autocast region around each pass, so that its end clears the cache" + no_leaf +
         "cache_enabled=False" + cost;
}

bool is_input(const store::Site& site) { return site.role == lanes::Role::kInput; }

struct KeptInputs {
  store::StackId stack = {};
  store::RegionId region = {};
  std::uint64_t entries = 0, bytes = 0;
};
std::map<Line, KeptInputs> held_inputs(const store::RunData& data, std::uint64_t many) {
  std::map<Line, KeptInputs> places;
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    const store::SiteEvidence& e = use.evidence;
    if (!is_input(site) || !keeps_growing(e, many)) continue;
    KeptInputs& held = places[line_of(data, site.stack)];
    if (e.most_kept_bytes < held.bytes) continue;
    held = {site.stack, data.outermost(site.region), e.most_kept, e.most_kept_bytes};
  }
  return places;
}

void judge_inputs(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  auto held = held_inputs(data, static_cast<std::uint64_t>(inquiry.threshold("inputs")));
  for (const auto& [place, served] : served_copies(data, lanes::FactKind::kStaleHit, is_input)) {
    Finding& finding = inquiry.add(served.stack);
    finding.title =
        "an input that requires grad was changed, and is used here as it was before: autocast serves the copy that it "
        "made earlier in the same region";
    finding.evidence_number = {{"stale_cache_hits", served.times}};
    if (const auto also = held.find(place); also != held.end()) {
      finding.evidence_number.emplace_back("entries", also->second.entries);
      finding.evidence_number.emplace_back("entry_bytes", also->second.bytes);
      held.erase(also);
    }
    finding.evidence_text = {{"input", first_of(served.sources)}, {"changed_by", changes_text(served.changes)}};
    add_opening_place(data, served.region, finding);
    finding.fix = fix_for(amp_handle_around(data, served.region));
  }
  for (const auto& [place, inputs] : held) {
    Finding& finding = inquiry.add(inputs.stack);
    finding.title = std::to_string(inputs.entries) + " inputs that require grad went into the autocast cache here (" +
                    readable_bytes(inputs.bytes) + " of copies), and stay in memory until the region ends";
    finding.evidence_number = {{"entries", inputs.entries}, {"entry_bytes", inputs.bytes}};
    add_opening_place(data, inputs.region, finding);
    finding.fix = fix_for(amp_handle_around(data, inputs.region));
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "cache-holds-input",
    .severity = "warning",
    .harm = Harm::kMemory,
    .summary = "the autocast cache holds inputs that require grad",
    .thresholds = kThresholds,
    .sees = kEvents,
    .explanation = {.what = "An input that requires grad went into the autocast cache, and was changed in place, or "
                            "was followed by many others in the same region.",
                    .why = "Autocast takes every float32 leaf that requires grad for a weight. A changed input is "
                           "served as it was before its change, so the steps of an attack or of a prompt's "
                           "optimisation do nothing; and each input stays in memory, with its copy, until the "
                           "outermost region ends.",
                    .example = R"(import torch

layer = torch.nn.Linear(8, 1)
x = torch.randn(4, 8, requires_grad=True)
with torch.autocast("cpu", dtype=torch.bfloat16):
    for _ in range(3):
        loss = layer(x).float().sum()
        print(loss.item())  # the same each time
        (gradient,) = torch.autograd.grad(loss, x)
        with torch.no_grad():
            x += 0.1 * gradient.sign())",
                    .fix = "Open the region around each pass, or give the model a tensor that is not a leaf (`x + 0`).",
                    .fixed_example = R"(import torch

layer = torch.nn.Linear(8, 1)
x = torch.randn(4, 8, requires_grad=True)
for _ in range(3):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = layer(x).float().sum()
    print(loss.item())
    (gradient,) = torch.autograd.grad(loss, x)
    with torch.no_grad():
        x += 0.1 * gradient.sign())",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_inputs,
};

}  // namespace castscope::rules::cache_holds_input
