// region-spans-steps: one stay in a region holds several optimizer steps. The copies of the weights that autocast keeps
// live as long as the outermost region, unless the code clears the cache: after a step they hold old values.
#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "server/rules/evidence/amp_handle.h"
#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/enforced_policy.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/evidence/region_work.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::region_spans_steps {
namespace {

// With a single step the region ends before the weights are used again, so two steps are asked for. A step in which
// several optimizers each take their own parameters, one after the other, counts as one (EvidenceTracker::optimizer).
constexpr Threshold kThresholds[] = {
    {.name = "optimizer_steps", .value = 2, .meaning = "fewer optimizer steps in one stay are not a loop"}};

bool is_in_another(const store::RunData& data, const store::Region& region, std::uint64_t steps) {
  for (store::RegionId id = region.parent; id != 0; id = data.regions[id].parent)
    if (spans_steps(data, data.regions[id], steps)) return true;
  return false;
}

struct Place {
  const store::Region* region = nullptr;
  Stays stays;
  bool backward_inside = false;
  bool all_events = true;  // no event was dropped, so that whatever is not known did not happen
  std::uint64_t hits = 0, weight_casts = 0, stale_hits = 0;
};

// Some old hits are known to the agent alone (FactKind::kStaleHit), others show in the order of the events.
bool served_old_copies(const Place& place) { return place.stays.old_hits > 0 || place.stale_hits > 0; }

// The cache works as in a region for each step: it cannot serve an old copy.
bool is_cleared_each_step(const Place& place) {
  const std::uint64_t between_steps = place.stays.most_optimizer_steps - 1;
  return !served_old_copies(place) && place.all_events && place.stays.clears_within >= between_steps;
}

std::string what_its_cache_did(const Place& place) {
  const Stays& stays = place.stays;
  const std::string cleared = "its cache was cleared " + counted(stays.clears_within, "time") + " meanwhile";
  const std::string by_events = place.all_events ? "" : ", as far as its events are known";
  if (!served_old_copies(place)) {
    const std::string none = "no hit gave a copy of a weight from before the latest step" + by_events;
    return (stays.clears_within > 0 ? cleared + ", and " : "nothing cleared its cache, though ") + none;
  }
  const std::string hits = counted(std::max(stays.old_hits, place.stale_hits), "cache hit") +
                           " gave a copy of a weight from before the latest step";
  return stays.clears_within > 0 ? hits + ", though " + cleared : hits;
}

std::string fix_for(bool cleared, std::optional<AmpHandle> handle) {
  const std::string fine = "It serves nothing old as long as the cache is cleared after every step. ";
  if (handle) {
    const std::string scaled = "`with " + scaled_loss(*handle) + " as scaled_loss: scaled_loss.backward()`";
    return cleared ? fine + scaled + " clears it by itself, with bfloat16 too."
                   : "Call backward by " + scaled + ", which clears the cache; or call " + clearing_the_cache(*handle) +
                         " after each optimizer step, or keep nothing: " + without_the_cache(*handle) + ".";
  }
  return cleared ? fine +
                       "A region that is opened anew in each iteration, around the forward pass and the loss alone, "
                       "does that by itself."
                 : "Open the region anew in each iteration, around the forward pass and the loss alone; call "
                   "backward() and the optimizer's step() after it.";
}

void add_finding(Inquiry& inquiry, const Place& place) {
  const std::uint64_t steps = place.stays.most_optimizer_steps;
  const bool cleared = is_cleared_each_step(place);
  Finding& finding = cleared ? inquiry.add(place.region->stack, "info") : inquiry.add(place.region->stack);
  finding.title =
      "one autocast region is open over " + counted(steps, "optimizer step") + ": " + what_its_cache_did(place);
  finding.evidence_number = {{"most_optimizer_steps_in_stay", steps},
                             {"entered", place.stays.entered},
                             {"cache_clears_within", place.stays.clears_within},
                             {"cache_hits", place.hits},
                             {"old_cache_hits", place.stays.old_hits},
                             {"weight_casts", place.weight_casts}};
  finding.evidence_text = {{"region_label", region_text(*place.region)},
                           {"backward_inside", place.backward_inside ? "yes" : "no"}};
  finding.fix = fix_for(cleared, amp_handle_of(inquiry.data, *place.region));
}

void add_facts(const store::RunData& data, const store::Region& region, Place& place) {
  const auto seen = times_of_facts(data);
  for (const store::Fact& fact : data.facts) {
    if (seen[fact.id] == 0 || fact.subject == 0) continue;
    if (fact.kind == lanes::FactKind::kBackward)
      place.backward_inside |= is_within(data, store::RegionId(fact.subject), region.id);
    constexpr auto kSameValues = static_cast<std::uint16_t>(lanes::Staleness::kSameValues);
    const bool stale = fact.kind == lanes::FactKind::kStaleHit && fact.detail != kSameValues;
    if (stale && is_within(data, data.sites[store::SiteId(fact.subject)].region, region.id))
      place.stale_hits += seen[fact.id];
  }
}

void add_casts(const store::RunData& data, const store::Region& region, Place& place) {
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    if (!is_within(data, site.region, region.id)) continue;
    place.hits += use.counts.hits;
    if (site.role == lanes::Role::kWeight) place.weight_casts += use.counts.casts;
  }
}

// Returns whether the processes that were in this region have all their events.
bool has_all_events(const store::RunData& data, const store::Region& region) {
  return std::none_of(data.region_uses.begin(), data.region_uses.end(), [&](const store::RegionUse& use) {
    if (use.region != region.id) return false;
    const std::vector<store::LaneRow>& lanes = data.processes[use.process].lanes;
    return std::any_of(lanes.begin(), lanes.end(), [](const store::LaneRow& lane) { return lane.dropped > 0; });
  });
}

void add_region(const store::RunData& data, const store::Region& region, Place& place) {
  const Stays stays = stays_in(data, region.id);
  if (place.region == nullptr) place.region = &region;
  place.stays.entered += stays.entered;
  place.stays.most_optimizer_steps = std::max(place.stays.most_optimizer_steps, stays.most_optimizer_steps);
  place.stays.clears_within += stays.clears_within;
  place.stays.old_hits += stays.old_hits;
  place.all_events &= has_all_events(data, region);
  add_facts(data, region, place);
  add_casts(data, region, place);
}

void judge_steps(Inquiry& inquiry) {
  if (!enforced_policy(inquiry.data).empty()) return;  // its cache makes new copies after an optimizer step
  const store::RunData& data = inquiry.data;
  const auto least = static_cast<std::uint64_t>(inquiry.threshold("optimizer_steps"));
  std::map<Line, Place> places;
  for (const store::Region& region : data.regions) {
    if (!spans_steps(data, region, least) || is_in_another(data, region, least)) continue;
    add_region(data, region, places[line_of(data, region.stack)]);
  }
  for (const auto& [at, place] : places) add_finding(inquiry, place);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "region-spans-steps",
    .severity = "warning",
    .harm = Harm::kResults,
    .summary = "a region is open over several optimizer steps",
    .thresholds = kThresholds,
    .sees = kEvents,
    .explanation =
        {.what = "The training loop runs inside one autocast region.",
         .why = "Autocast casts each weight once and keeps the copy until the outermost region ends, or the code "
                "clears the cache. When the optimizer changes the weights meanwhile, the forward pass goes on with "
                "the old copies: the loss stays where it is. The finding says how often that was seen. Where the "
                "cache was cleared after every step, and no old copy was seen, it is for your information only.",
         .example = R"(import torch

model = torch.nn.Linear(32, 32)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(8, 32)
with torch.autocast("cpu", dtype=torch.bfloat16):  # belongs into the loop
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(x).float().pow(2).mean()
        loss.backward()
        optimizer.step()
        print(loss.item()))",
         .fix = "Open the region in the loop, around forward pass and loss.",
         .fixed_example = R"(import torch

model = torch.nn.Linear(32, 32)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(8, 32)
for _ in range(3):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(x).float().pow(2).mean()
    loss.backward()
    optimizer.step()
    print(loss.item()))",
         .links = "https://docs.pytorch.org/docs/stable/notes/amp_examples.html#typical-mixed-precision-training"},
    .judge = judge_steps,
};

}  // namespace castscope::rules::region_spans_steps
