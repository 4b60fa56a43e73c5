#include "server/rules/evidence/places/finding_processes.h"

#include <vector>

namespace castscope::rules {

ProcessesByLine::ProcessesByLine(const store::RunData& data) {
  store::Table<std::set<store::ProcessId>, store::Stack> by_stack(data.stacks.size());
  const auto add = [&](store::StackId stack, store::ProcessId process) {
    if (stack != 0) by_stack[stack].insert(process);
  };
  for (const store::SiteUse& use : data.site_uses) add(data.sites[use.site].stack, use.process);
  for (const store::UseCount& count : data.use_counts) add(data.operator_uses[count.use].stack, count.process);
  for (const store::FactCount& count : data.fact_counts) add(data.facts[count.fact].stack, count.process);
  for (const store::RegionUse& use : data.region_uses) add(data.regions[use.region].stack, use.process);
  for (const store::StackId stack : by_stack.ids())
    if (!by_stack[stack].empty()) processes_[line_of(data, stack)].merge(by_stack[stack]);
}

std::set<store::ProcessId> ProcessesByLine::of(const store::Finding& finding) const {
  const auto at = [&](const store::CodeLocation& place) { return processes_.find({place.file, place.line}); };
  if (!finding.location) return {};
  if (const auto found = at(*finding.location); found != processes_.end()) return found->second;
  for (const store::CodeLocation& place : finding.related)
    if (const auto found = at(place); found != processes_.end()) return found->second;
  return {};
}

}  // namespace castscope::rules
