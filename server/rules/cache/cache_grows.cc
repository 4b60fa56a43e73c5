// cache-grows: during one stay in an outermost region the same line puts weight after weight into the autocast cache
// and none of them is asked for again. The cache is emptied only when the region ends, so memory grows with the number
// of weights made meanwhile (modules built in a loop, weights generated per sample).
//
// Not a finding: a big model, whose entries stop growing after the first pass (hits follow the last new entry), and a
// list of weights that come back in the next region (their sources are alive).
#include <map>

#include "server/rules/cache/kept_entries.h"
#include "server/rules/evidence/amp_handle.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::cache_grows {
namespace {

// A line of ordinary code uses one weight, a loop over the layers of a block a handful. A line that makes 16 new ones,
// none of which is asked for again, is a loop that creates them.
constexpr Threshold kThresholds[] = {
    {"entries", 16, "a line that puts fewer different weights into the cache in one region is ordinary code"}};

std::string fix_for(const std::optional<AmpHandle>& handle) {
  if (handle)
    return "Call " + clearing_the_cache(*handle) + " after the uses, as " + scaled_loss(*handle) +
           " does in training; or keep no copies, where weights are used once: " + without_the_cache(*handle) + ".";
  return "Open the region inside the loop, around each use, so that its end clears the cache; or pass "
         "cache_enabled=False for weights that are used once.";
}

void judge_growth(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const auto many = static_cast<std::uint64_t>(inquiry.threshold("entries"));
  struct Group {
    store::SiteUse worst;
    std::uint64_t entries = 0, bytes = 0;
  };
  std::map<Line, Group> lines;  // by the outermost region's line; where no region is needed, by the line itself
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    if (site.role == lanes::Role::kInput || !keeps_growing(use.evidence, many)) continue;
    const store::RegionId region = data.outermost(site.region);
    Group& group = lines[line_of(data, region ? data.regions[region].stack : site.stack)];
    group.entries += use.evidence.most_kept;
    group.bytes += use.evidence.most_kept_bytes;
    if (use.evidence.most_kept_bytes >= group.worst.evidence.most_kept_bytes) group.worst = use;
  }
  for (const auto& [line, group] : lines) {
    const store::Site& site = data.sites[group.worst.site];
    const store::RegionId region = data.outermost(site.region);
    Finding& finding = inquiry.add(region ? data.regions[region].stack : site.stack);
    finding.title = "one stay in this autocast region put " + std::to_string(group.entries) + " entries (" +
                    readable_bytes(group.bytes) + ") into the cache that are not used again";
    finding.evidence_number = {{"entries", group.entries}, {"entry_bytes", group.bytes}};
    for (const store::RegionUse& use : data.region_uses) {
      if (use.region != region || use.process != group.worst.process) continue;
      finding.evidence_number.emplace_back("most_entries_in_stay", use.most_entries);
      finding.evidence_number.emplace_back("most_bytes_in_stay", use.most_bytes);
    }
    if (const auto at = data.user_location(site.stack))
      finding.evidence_text.emplace_back("kept_at", place_text(data, *at));
    finding.fix = fix_for(amp_handle_around(data, region));
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "cache-grows",
    .severity = "warning",
    .harm = Harm::kMemory,
    .summary = "new entries keep going into the autocast cache of one long region",
    .thresholds = kThresholds,
    .sees = kEvents,
    .explanation = {.what = "One stay in an autocast region puts weight after weight into the autocast cache, and none "
                            "of them is used again there.",
                    .why = "Each entry keeps the weight and its copy alive. Only the end of the outermost region "
                           "empties the cache, so memory grows for as long as the region is open.",
                    .example = R"(import torch

with torch.autocast("cpu", dtype=torch.bfloat16):
    for _ in range(100):
        layer = torch.nn.Linear(1024, 1024)  # 6 MB more each time
        y = layer(torch.randn(8, 1024)))",
                    .fix = "Open the region inside the loop, around each use, or pass `cache_enabled=False`.",
                    .fixed_example = R"(import torch

for _ in range(100):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        layer = torch.nn.Linear(1024, 1024)
        y = layer(torch.randn(8, 1024)))",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_growth,
};

}  // namespace castscope::rules::cache_grows
