#include "server/web/finding_places.h"

#include <algorithm>

#include "server/web/parameters.h"

namespace castscope::web {
namespace {

bool same_line(const std::optional<store::CodeLocation>& a, const store::CodeLocation& b) {
  return a && a->line == b.line && a->file == b.file;
}

timeline::Selection everything_at(const store::CodeLocation& at, const store::RunData& run) {
  timeline::Selection selection{.sites = std::vector<bool>(run.sites.size() + 1),
                                .uses = std::vector<bool>(run.operator_uses.size() + 1),
                                .regions = std::vector<bool>(run.regions.size() + 1),
                                .shades = {}};
  for (const store::Site& site : run.sites) selection.sites[site.id] = same_line(run.user_location(site.stack), at);
  for (const store::OperatorUse& use : run.operator_uses)
    selection.uses[use.id] = same_line(run.user_location(use.stack), at);
  for (const store::Region& region : run.regions)
    selection.regions[region.id] = same_line(run.user_location(region.stack), at);
  return selection;
}

bool is_empty(const timeline::Selection& selection) {
  const auto none = [](const std::vector<bool>& list) {
    return std::find(list.begin(), list.end(), true) == list.end();
  };
  return none(selection.sites) && none(selection.uses) && none(selection.regions);
}

}  // namespace

FindingPlace place_of(const store::Finding& finding, const store::RunData& run, const timeline::Timeline& timeline) {
  std::vector<store::CodeLocation> places;
  if (finding.location) places.push_back(*finding.location);
  places.insert(places.end(), finding.related.begin(), finding.related.end());
  for (const store::CodeLocation& at : places) {
    const timeline::Selection selection = everything_at(at, run);
    if (is_empty(selection)) continue;
    FindingPlace place;
    for (std::size_t id = 1; id < selection.sites.size(); ++id) {
      if (selection.sites[id]) place.sites.push_back(static_cast<std::uint32_t>(id));
    }
    timeline::NeighbourQuery from_the_begin{.at = -kLatestTime};
    from_the_begin.filter.found = &selection;
    const auto first = timeline.neighbour(from_the_begin);
    if (first) place.time = first->begin, place.track = first->track;
    return place;
  }
  return {};
}

}  // namespace castscope::web
