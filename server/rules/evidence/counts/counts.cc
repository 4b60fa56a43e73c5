#include "server/rules/evidence/counts/counts.h"

namespace castscope::rules {

store::Table<std::uint64_t, store::OperatorUse> times_of_uses(const store::RunData& data) {
  store::Table<std::uint64_t, store::OperatorUse> times(data.operator_uses.size());
  for (const store::UseCount& count : data.use_counts) times[count.use] += count.times;
  return times;
}

store::Table<std::uint64_t, store::Fact> times_of_facts(const store::RunData& data) {
  store::Table<std::uint64_t, store::Fact> times(data.facts.size());
  for (const store::FactCount& count : data.fact_counts) times[count.fact] += count.times;
  return times;
}

store::Table<ProcessUses, store::Process> uses_by_process(const store::RunData& data) {
  store::Table<ProcessUses, store::Process> all(data.processes.size());
  for (const store::UseCount& count : data.use_counts)  // ordered
    if (count.times > 0) all[count.process].push_back({&data.operator_uses[count.use], count.times});
  return all;
}

double ns_of_each_cast(const store::SiteUse& use) {
  const store::Counts& counts = use.counts;
  if (counts.casts == 0) return 0;
  const bool several = counts.casts > 1 && counts.cpu_ns > use.evidence.first_ns;
  return several ? static_cast<double>(counts.cpu_ns - use.evidence.first_ns) / static_cast<double>(counts.casts - 1)
                 : static_cast<double>(counts.cpu_ns) / static_cast<double>(counts.casts);
}

store::Table<Processes, store::Region> processes_of_regions(const store::RunData& data) {
  store::Table<Processes, store::Region> processes(data.regions.size());
  for (const store::RegionUse& use : data.region_uses) processes[use.region].push_back(use.process);
  return processes;
}

store::Table<Processes, store::OperatorUse> processes_of_uses(const store::RunData& data) {
  store::Table<Processes, store::OperatorUse> processes(data.operator_uses.size());
  for (const store::UseCount& count : data.use_counts)
    if (count.times > 0) processes[count.use].push_back(count.process);
  return processes;
}

bool share_one(const Processes& left, const Processes& right) {
  auto l = left.begin();
  for (auto r = right.begin(); l != left.end() && r != right.end();) {
    if (*l == *r) return true;
    *l < *r ? ++l : ++r;
  }
  return false;
}

std::set<store::ProcessId> processes_that_train(const store::RunData& data) {
  std::set<store::ProcessId> processes;
  for (const store::UseCount& count : data.use_counts)
    if (data.operator_uses[count.use].phase == lanes::Phase::kBackward) processes.insert(count.process);
  for (const store::SiteUse& use : data.site_uses)
    if (data.sites[use.site].phase == lanes::Phase::kBackward) processes.insert(use.process);
  for (const store::FactCount& count : data.fact_counts)
    if (const auto kind = data.facts[count.fact].kind;
        kind == lanes::FactKind::kOptimizerStep || kind == lanes::FactKind::kBackward)
      processes.insert(count.process);
  return processes;
}

}  // namespace castscope::rules
