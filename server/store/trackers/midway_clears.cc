#include "server/store/trackers/midway_clears.h"

#include <algorithm>

namespace castscope::store {

void MidwayClears::kept(std::uint32_t lane_id, std::uint64_t ns) {
  Lane& lane = at(lane_id);
  if (lane.stays.empty() || lane.stays.back().end_ns != kOpen) {
    lane.stays.emplace_back();
    if (lane.stays.size() > kMostStays) lane.stays.pop_front();
  }
  std::vector<std::uint64_t>& times = lane.stays.back().kept_ns;
  if (times.size() == kMostKept) times.pop_back();
  times.push_back(ns);
}

bool MidwayClears::Stay::kept_between(std::uint64_t after, std::uint64_t before) const {
  return std::any_of(kept_ns.begin(), kept_ns.end(), [&](std::uint64_t ns) { return ns > after && ns < before; });
}

void MidwayClears::ended(std::uint32_t lane_id, std::uint64_t ns) {
  Lane& lane = at(lane_id);
  if (!lane.stays.empty() && lane.stays.back().end_ns == kOpen) lane.stays.back().end_ns = ns;
}

void MidwayClears::cleared(std::uint32_t lane, std::uint64_t ns, RegionId region) {
  clears_.push_back({.lane = lane, .region = region, .ns = ns});
  if (clears_.size() > kMostClears) clears_.pop_front();
}

MidwayClears::Verdict MidwayClears::judge(const Clear& clear, bool last) {
  Verdict verdict = Verdict::kNo;
  for (std::size_t id = 0; id < lanes_.size(); ++id) {
    Lane& lane = lanes_[id];
    if (id == clear.lane || (lane.stays.empty() && lane.seen_ns == 0)) continue;
    const bool all_read = lane.seen_ns > clear.ns || last || clear.settles >= kLag;
    if (!all_read && verdict == Verdict::kNo) verdict = Verdict::kNotYet;
    for (Stay& stay : lane.stays) {
      const bool holds = clear.ns < stay.end_ns && stay.kept_between(stay.cleared_ns, clear.ns);
      if (!holds || (stay.end_ns == kOpen && !all_read)) continue;
      stay.cleared_ns = clear.ns;
      verdict = Verdict::kYes;
    }
  }
  return verdict;
}

std::vector<RegionId> MidwayClears::settle(bool last) {
  std::vector<RegionId> regions;
  std::sort(clears_.begin(), clears_.end(), [](const Clear& a, const Clear& b) { return a.ns < b.ns; });
  std::deque<Clear> waiting;
  for (Clear& clear : clears_) {
    const Verdict verdict = judge(clear, last);
    if (verdict == Verdict::kYes) regions.push_back(clear.region);
    ++clear.settles;
    if (verdict == Verdict::kNotYet) waiting.push_back(clear);
  }
  clears_.swap(waiting);
  for (Lane& lane : lanes_) {
    for (Stay& stay : lane.stays) stay.settles += stay.end_ns != kOpen;
    while (!lane.stays.empty() && lane.stays.front().settles > kLag + 1) lane.stays.pop_front();
  }
  return regions;
}

}  // namespace castscope::store
