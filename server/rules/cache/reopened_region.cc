#include "server/rules/cache/reopened_region.h"

#include <map>
#include <set>
#include <string>

#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/counts/step_time.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/region_work.h"
#include "server/rules/evidence/weights.h"

namespace castscope::rules::weight_cast_repeatedly {
namespace {

// All regions that one line opens.
struct Reopened {
  store::RegionId region = {};
  std::set<std::string> weights;
  store::Counts counts;
  std::uint64_t again = 0;
  double ns = 0;  // that the casts made again took
  std::map<std::string, std::uint64_t> bytes_of_one_copy;
};

void add_use(Reopened& place, const store::RunData& data, const store::SiteUse& use) {
  const std::string weight = weight_name(data, data.sites[use.site]);
  place.weights.insert(weight);
  place.counts += use.counts;
  place.again += use.evidence.recast_in_pass;
  place.ns += ns_of_each_cast(use) * static_cast<double>(use.evidence.recast_in_pass);
  if (use.counts.casts > 0) place.bytes_of_one_copy[weight] = use.counts.bytes / use.counts.casts;
}

}  // namespace

void judge_reopened_regions(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  std::map<Line, Reopened> places;
  for (const store::SiteUse& use : data.site_uses) {
    if (2 * use.evidence.recast_passes <= use.evidence.cast_passes) continue;
    const store::RegionId region = data.outermost(data.sites[use.site].region);
    if (region == 0) continue;
    Reopened& place = places[line_of(data, data.regions[region].stack)];
    if (place.region == 0) place.region = region;
    add_use(place, data, use);
  }
  for (const auto& [line, place] : places) {
    const store::Region& region = data.regions[place.region];
    Finding& finding = inquiry.add(region.stack);
    finding.title = subject_of(place.weights) + " cast again each time this region is opened in one forward pass";
    finding.evidence_number = {{"weight_count", place.weights.size()},
                               {"casts", place.counts.casts},
                               {"repeated_casts", place.again},
                               {"bytes", place.counts.bytes},
                               {"cpu_ns", place.counts.cpu_ns}};
    finding.evidence_text = {
        {"weight", first_of(place.weights)}, {"same_weight_by", "tensor"}, {"region_label", region_text(region)}};
    finding.savings = saved_per_step(data, place.ns);
    if (finding.savings)
      for (const auto& [weight, bytes] : place.bytes_of_one_copy) finding.savings->held_bytes += bytes;
    finding.fix =
        "Open one region around the loop that opens this one, or around the parts of the pass that do: the end of an "
        "outermost region empties autocast's cache, the end of a nested one does not. What stands between, and is to "
        "stay in float32, needs torch.autocast(device, enabled=False) then.";
  }
}

}  // namespace castscope::rules::weight_cast_repeatedly
