#include "server/rules/evidence/places/finding_processes.h"

#include <vector>

namespace castscope::rules {

ProcessesByLine::ProcessesByLine(const store::RunData& data) {
  std::vector<std::set<std::uint32_t>> by_stack(data.stacks.size() + 1);
  const auto add = [&](std::uint32_t stack, std::uint32_t process) { by_stack[stack].insert(process); };
  for (const store::SiteUse& use : data.site_uses) add(data.site(use.site).stack, use.process);
  for (const store::UseCount& count : data.use_counts) add(data.operator_use(count.use).stack, count.process);
  for (const store::FactCount& count : data.fact_counts) add(data.fact(count.fact).stack, count.process);
  for (const store::RegionUse& use : data.region_uses) add(data.region(use.region).stack, use.process);
  for (std::uint32_t stack = 1; stack < by_stack.size(); ++stack)
    if (!by_stack[stack].empty()) processes_[line_of(data, stack)].merge(by_stack[stack]);
}

std::set<std::uint32_t> ProcessesByLine::of(const store::Finding& finding) const {
  const auto at = [&](const store::CodeLocation& place) { return processes_.find({place.file, place.line}); };
  if (!finding.location) return {};
  if (const auto found = at(*finding.location); found != processes_.end()) return found->second;
  for (const store::CodeLocation& place : finding.related)
    if (const auto found = at(place); found != processes_.end()) return found->second;
  return {};
}

}  // namespace castscope::rules
