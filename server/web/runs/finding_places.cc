#include "server/web/runs/finding_places.h"

#include <algorithm>

namespace castscope::web {
namespace {

template <typename Id>
std::vector<bool> mark_ids(const std::vector<Id>& ids) {
  std::vector<bool> list(ids.empty() ? 0 : *std::max_element(ids.begin(), ids.end()) + 1);
  for (const Id id : ids) list[id] = true;
  return list;
}

}  // namespace

Lines::Lines(const store::RunData& run) {
  const auto at = [&](store::StackId stack) -> Ids* {
    const auto place = run.user_location(stack);
    return place ? &lines_[{place->file, place->line}] : nullptr;
  };
  for (const store::Site& site : run.sites) {
    if (Ids* const ids = at(site.stack)) ids->sites.push_back(site.id);
  }
  for (const store::OperatorUse& use : run.operator_uses) {
    if (Ids* const ids = at(use.stack)) ids->uses.push_back(use.id);
  }
  for (const store::Region& region : run.regions) {
    if (Ids* const ids = at(region.stack)) ids->regions.push_back(region.id);
  }
}

const Lines::Ids* Lines::of(const store::Finding& finding) const {
  std::vector<store::CodeLocation> places;
  if (finding.location) places.push_back(*finding.location);
  places.insert(places.end(), finding.related.begin(), finding.related.end());
  for (const store::CodeLocation& place : places) {
    const auto found = lines_.find({place.file, place.line});
    if (found != lines_.end()) return &found->second;
  }
  return nullptr;
}

std::optional<FirstEvent> first_event(const Lines::Ids& ids, const timeline::Timeline& timeline) {
  const timeline::Selection selection{
      .sites = mark_ids(ids.sites), .uses = mark_ids(ids.uses), .regions = mark_ids(ids.regions)};
  timeline::NeighbourQuery from_the_begin{.at = -timeline::kLatestTime};
  from_the_begin.filter.found = &selection;
  const auto first = timeline.neighbour(from_the_begin);
  if (!first) return std::nullopt;
  return FirstEvent{.time = first->begin, .track = first->track};
}

}  // namespace castscope::web
