// Counts how often things were seen, and in which processes. The counts of a run come by process; most questions are
// about all processes together, or about each by itself.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::rules {

// Returns how often each was seen, in all processes; by id.
std::vector<std::uint64_t> times_of_uses(const store::RunData&);
std::vector<std::uint64_t> times_of_facts(const store::RunData&);

// The operators of one process, in the order of first calls. Lines and modules identify code, and another process of
// the run may use the same lines differently.
struct CountedUse {
  const store::OperatorUse* use = nullptr;
  std::uint64_t times = 0;
};
using ProcessUses = std::vector<CountedUse>;
std::vector<ProcessUses> uses_by_process(const store::RunData&);

// Returns the processes in which each region was entered, or each operator use was seen, by id and ascending. A region
// and the things in it, or beside it, belong to one process.
using Processes = std::vector<std::uint32_t>;
std::vector<Processes> processes_of_regions(const store::RunData&);
std::vector<Processes> processes_of_uses(const store::RunData&);
bool share_one(const Processes&, const Processes&);

// Returns the processes that train something: backward ran, or an optimizer.
std::set<std::uint32_t> processes_that_train(const store::RunData&);

}  // namespace castscope::rules
