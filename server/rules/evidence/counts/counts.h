// Counts how often things were seen, and in which processes. The counts of a run come by process; most questions are
// about all processes together, or about each by itself.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::rules {

// Returns how often each was seen, in all processes.
store::Table<std::uint64_t, store::OperatorUse> times_of_uses(const store::RunData&);
store::Table<std::uint64_t, store::Fact> times_of_facts(const store::RunData&);

// The operators of one process, in the order of first calls. Lines and modules identify code, and another process of
// the run may use the same lines differently.
struct CountedUse {
  const store::OperatorUse* use = nullptr;
  std::uint64_t times = 0;
};
using ProcessUses = std::vector<CountedUse>;
store::Table<ProcessUses, store::Process> uses_by_process(const store::RunData&);

// Returns the processes in which each region was entered, or each operator use was seen, ascending. A region
// and the things in it, or beside it, belong to one process.
using Processes = std::vector<store::ProcessId>;
store::Table<Processes, store::Region> processes_of_regions(const store::RunData&);
store::Table<Processes, store::OperatorUse> processes_of_uses(const store::RunData&);
bool share_one(const Processes&, const Processes&);

// Returns the processes that train something: backward ran, or an optimizer.
std::set<store::ProcessId> processes_that_train(const store::RunData&);

// Returns how long each cast of the site took in this process. The first one may have paid for page faults and the
// start of threads: it counts only where it is alone.
double ns_of_each_cast(const store::SiteUse&);

}  // namespace castscope::rules
