// cache-setting-lost: a region switched autocast's cache off, and it is on again within that region: a context object
// that was built elsewhere restores the setting of the time when it was built, and a new thread begins with the cache
// on. The rule reports this only where something went into the cache then.
#include <map>
#include <utility>

#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::cache_setting_lost {
namespace {

// Returns the nearest of the regions around this one that casts.
const store::Region* casting_parent(const store::RunData& data, const store::Region& region) {
  store::RegionId id = region.parent;
  while (id != 0 && !data.regions[id].enabled) id = data.regions[id].parent;
  return id == 0 ? nullptr : &data.regions[id];
}

enum class Lost { kNo, kInside, kInThread };
Lost how_lost(const store::RunData& data, const store::Region& region) {
  if (!region.enabled || !region.cache_enabled || region.kind != lanes::RegionKind::kContext) return Lost::kNo;
  const store::Region* around = casting_parent(data, region);
  if (around != nullptr && around->device == region.device && !around->cache_enabled) return Lost::kInside;
  return region.parent == 0 && (region.flags & lanes::kRegionCacheOffElsewhere) ? Lost::kInThread : Lost::kNo;
}

void judge_settings(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  struct Group {
    store::StackId stack = {};
    const store::Region* around = nullptr;
    std::uint64_t kept = 0;
  };
  std::map<std::pair<Line, Lost>, Group> places;
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    if (use.counts.kept == 0 || site.region == 0) continue;
    const store::Region& region = data.regions[site.region];
    const Lost how = how_lost(data, region);
    if (how == Lost::kNo) continue;
    Group& group = places[{line_of(data, region.stack), how}];
    group.stack = region.stack;
    group.around = how == Lost::kInside ? casting_parent(data, region) : nullptr;
    group.kept += use.counts.kept;
  }
  for (const auto& [place, group] : places) {
    const bool inside = group.around != nullptr;
    Finding& finding = inquiry.add(group.stack);
    finding.title = inside ? "this region switches autocast's cache on again, inside one that has it off"
                           : "this thread's region has autocast's cache on, while another thread's has it off";
    finding.evidence_number = {{"kept", group.kept}};
    if (inside) add_related(finding, data, group.around->stack);
    finding.fix = inside ? "Build the context object where it is entered, so that it takes the setting of the region "
                           "around it, or pass cache_enabled=False to it too."
                         : "Pass cache_enabled=False to the thread's region too: a new thread begins with the cache "
                           "on, whatever the thread that starts it has set.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "cache-setting-lost",
    .severity = "info",
    .summary = "autocast's cache is on inside a region that switched it off",
    .thresholds = {},
    .explanation = {.what = "A region with `cache_enabled=False` was open, and another one within it, or in a thread "
                            "that runs meanwhile, put copies into the cache.",
                    .why = "A region takes `cache_enabled` from the time and the thread in which its object is built, "
                           "not from where it is entered. New threads begin with the cache on.",
                    .example = R"(import torch

layer = torch.nn.Linear(8, 8)
inner = torch.autocast("cpu", dtype=torch.bfloat16)  # built here: cache on
with torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False):
    with inner:
        y = layer(torch.randn(2, 8))  # kept)",
                    .fix = "Build the object where it is entered, or pass `cache_enabled=False` to it as well.",
                    .fixed_example = R"(import torch

layer = torch.nn.Linear(8, 8)
with torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False):
    with torch.autocast("cpu", dtype=torch.bfloat16):  # built here: cache off
        y = layer(torch.randn(2, 8)))",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_settings,
};

}  // namespace castscope::rules::cache_setting_lost
