// How often things were seen, and in which processes. The counts of a run come by process; most questions are about all
// of them, or about each by itself.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::rules {

// How often each was seen, in all processes; by id.
std::vector<std::uint64_t> times_of_uses(const store::RunData&);
std::vector<std::uint64_t> times_of_facts(const store::RunData&);

// What one process did, in the order of first calls. Code is known by its lines and modules, which other processes of
// the run may use otherwise.
struct CountedUse {
  const store::OperatorUse* use = nullptr;
  std::uint64_t times = 0;
};
using ProcessUses = std::vector<CountedUse>;
std::vector<ProcessUses> uses_by_process(const store::RunData&);

// The processes that each region was entered in, or each operator use seen in, by id and ascending. What stands in a
// region, or beside it, does so in one process.
using Processes = std::vector<std::uint32_t>;
std::vector<Processes> processes_of_regions(const store::RunData&);
std::vector<Processes> processes_of_uses(const store::RunData&);
bool share_one(const Processes&, const Processes&);

// Processes in which something is trained: backward ran, or an optimizer.
std::set<std::uint32_t> processes_that_train(const store::RunData&);

}  // namespace castscope::rules
