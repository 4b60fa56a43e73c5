#include "server/report/model/uncast_regions.h"

#include <set>

#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/region_work.h"

namespace castscope::report {
namespace {

std::set<store::StackId> places_around_python(const store::RunData& data) {
  std::set<store::StackId> stacks;
  const auto times = rules::times_of_facts(data);
  for (const store::Fact& fact : data.facts)
    if (fact.kind == lanes::FactKind::kScriptStopsAtPython && times[fact.id] > 0) stacks.insert(fact.stack);
  return stacks;
}

std::string_view why_off(const store::Region& region) {
  if ((region.flags & lanes::kRegionAskedEnabled) == 0) return "";  // as the code wants it
  if (region.flags & lanes::kRegionScriptOff) return "script_autocast_off";
  return region.flags & lanes::kRegionNoDevice ? "no_device" : "no_such_dtype";
}

}  // namespace

store::Table<std::string_view, store::Region> why_nothing_was_cast(const store::RunData& data) {
  const auto with_casts = rules::regions_with_casts(data), wrong = rules::regions_of_wrong_device(data);
  const std::set<store::StackId> around_python = places_around_python(data);
  store::Table<std::string_view, store::Region> why;
  for (const store::Region& region : data.regions) {
    std::string_view reason = region.enabled ? "" : why_off(region);
    if (region.enabled && !with_casts[region.id]) {
      if (wrong[region.id])
        reason = "other_device";
      else if (around_python.contains(region.stack))
        reason = "python";
    }
    why.push_back(reason);
  }
  return why;
}

}  // namespace castscope::report
