#include "server/timeline/tracks/modules.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "server/timeline/tracks/track_builder.h"

namespace castscope::timeline {

std::vector<std::string> module_levels(const store::Module& module) {
  std::vector<std::string> levels = {module.model()};
  if (module.path.empty()) return levels;
  const std::vector<std::string> parts = absl::StrSplit(module.path, '.');
  bool after_name = false;
  for (const std::string& part : parts) {
    const bool number = !part.empty() && std::all_of(part.begin(), part.end(), absl::ascii_isdigit);
    if (number && after_name) {
      levels.back().append(".").append(part);
    } else if (levels.size() == kMostModuleLevels) {
      break;
    } else {
      levels.emplace_back(part);
    }
    after_name = !number;
  }
  return levels;
}

// Numbers of the path up to each level. Empty: the operator belongs to no module.
const std::vector<std::uint32_t>& TrackBuilder::levels_of(Place& place, std::uint32_t use) {
  const auto cached = place.process.levels.find(use);
  if (cached != place.process.levels.end()) return cached->second;
  std::vector<std::uint32_t> levels;
  if (const store::Module* const module = place.numbers.module_of_use(place.process_id, use)) {
    std::string path;
    for (const std::string& level : module_levels(*module)) {
      path.append(level).append("\n");
      levels.push_back(prefixes_.emplace(path, static_cast<std::uint32_t>(prefixes_.size())).first->second);
    }
  }
  return place.process.levels.emplace(use, std::move(levels)).first->second;
}

// An interval of a module lasts from the first to the last operator in it, as long as no other module and no other step
// comes between. Operators that call others are enough: what they call is within them.
void TrackBuilder::work_in_module(Place& place, const lanes::Event& event, const Item& operation) {
  Lane& lane = place.lane;
  const std::vector<std::uint32_t>& levels = levels_of(place, event.site);
  std::size_t same = 0;
  if (event.step == lane.in_step) {
    while (same < std::min(lane.in.size(), levels.size()) && lane.in[same].prefix == levels[same]) ++same;
  }
  leave_modules(lane, same);
  lane.in_step = event.step;
  for (OpenModule& in : lane.in) in.item.end = std::max(in.item.end, operation.end);
  lane.modules.resize(std::max(lane.modules.size(), levels.size()));
  for (std::size_t level = same; level < levels.size(); ++level) {
    row(lane.modules[level], place.process_id, place.lane_id, TrackKind::kModules, static_cast<std::uint32_t>(level));
    lane.in.push_back({levels[level], {operation.begin, operation.end, 0, operation.subject}});
  }
}

// Only now it is known how long they lasted.
void TrackBuilder::leave_modules(Lane& lane, std::size_t level) {
  if (lane.in.size() <= level) return;
  const std::uint8_t shade = shades_.of(TrackKind::kModules, ShadeKind::kModule);
  for (std::size_t i = level; i < lane.in.size(); ++i) lane.modules[i]->add(shade, lane.in[i].item, holdings_);
  lane.in.resize(level);
}

}  // namespace castscope::timeline
