// Measures how long steps took, to say what part of them a finding would save.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "server/store/run/run_data.h"

namespace castscope::rules {

struct StepTime {
  std::uint64_t steps = 0;   // training steps; of a process that has none, all
  std::uint64_t passes = 0;  // evaluations too
  double ns = 0;
  StepTime& operator+=(const StepTime&);
};
// Returns by process the time from the begin of its first step to the end of its last; it leaves out processes with no
// step or a single one.
std::map<store::ProcessId, StepTime> step_times(const store::RunData&);

// Returns the savings of `ns` over all of these steps, as time in one step and as a share of it.
store::Savings savings_over(double ns, const StepTime&);
// Returns the savings over the steps of the whole run; nothing when no step was recorded. What evaluations cost and
// save counts as part of the training steps, like everything else that a job does for them.
std::optional<store::Savings> saved_per_step(const store::RunData&, double ns);

// Counts the deep steps of all processes that called one of these operator uses.
std::uint64_t deep_steps(const store::RunData&, const std::set<store::OperatorUseId>& uses);

}  // namespace castscope::rules
