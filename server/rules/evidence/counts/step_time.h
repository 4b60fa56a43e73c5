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
  double ns = 0;             // from the begin of the first to the end of the last, all that lies between included
  // `steps` times what one of them takes: the median, so that the first ones, which set things up, and those that were
  // looked at count little. Evaluations are spread over the steps, like everything that a job does for its training.
  double typical_ns = 0;
  StepTime& operator+=(const StepTime&);
};
// Returns the times by process; it leaves out processes with no step or a single one.
std::map<store::ProcessId, StepTime> step_times(const store::RunData&);
// Returns the times of all processes together.
StepTime step_time(const store::RunData&);

// Returns the savings of `ns` over all of these steps, as time in one step and as a share of it.
store::Savings savings_over(double ns, const StepTime&);
// Returns the savings over the steps of the whole run; nothing when no step was recorded.
std::optional<store::Savings> saved_per_step(const store::RunData&, double ns);

// Counts the deep steps of all processes that called one of these operator uses.
std::uint64_t deep_steps(const store::RunData&, const std::set<store::OperatorUseId>& uses);

}  // namespace castscope::rules
