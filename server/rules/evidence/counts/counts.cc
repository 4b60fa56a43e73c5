#include "server/rules/evidence/counts/counts.h"

namespace castscope::rules {

std::vector<std::uint64_t> times_of_uses(const store::RunData& data) {
  std::vector<std::uint64_t> times(data.operator_uses.size() + 1);
  for (const store::UseCount& count : data.use_counts) times[count.use] += count.times;
  return times;
}

std::vector<std::uint64_t> times_of_facts(const store::RunData& data) {
  std::vector<std::uint64_t> times(data.facts.size() + 1);
  for (const store::FactCount& count : data.fact_counts) times[count.fact] += count.times;
  return times;
}

std::vector<ProcessUses> uses_by_process(const store::RunData& data) {
  std::vector<ProcessUses> all(data.processes.size());
  for (const store::UseCount& count : data.use_counts)  // ordered
    if (count.times > 0) all[count.process - 1].push_back({&data.operator_use(count.use), count.times});
  return all;
}

std::vector<Processes> processes_of_regions(const store::RunData& data) {
  std::vector<Processes> processes(data.regions.size() + 1);
  for (const store::RegionUse& use : data.region_uses) processes[use.region].push_back(use.process);
  return processes;
}

std::vector<Processes> processes_of_uses(const store::RunData& data) {
  std::vector<Processes> processes(data.operator_uses.size() + 1);
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

std::set<std::uint32_t> processes_that_train(const store::RunData& data) {
  std::set<std::uint32_t> processes;
  for (const store::UseCount& count : data.use_counts)
    if (data.operator_use(count.use).phase == lanes::Phase::kBackward) processes.insert(count.process);
  for (const store::SiteUse& use : data.site_uses)
    if (data.site(use.site).phase == lanes::Phase::kBackward) processes.insert(use.process);
  for (const store::FactCount& count : data.fact_counts)
    if (const auto kind = data.fact(count.fact).kind;
        kind == lanes::FactKind::kOptimizerStep || kind == lanes::FactKind::kBackward)
      processes.insert(count.process);
  return processes;
}

}  // namespace castscope::rules
