// How long steps took, for what a finding would save of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "server/store/run/run_data.h"

namespace castscope::rules {

struct StepTime {
  std::uint64_t steps = 0;
  double ns = 0;
  StepTime& operator+=(const StepTime&);
};
// By process, from the begin of its first step to the end of its last; those without steps, or with but one, are left
// out.
std::map<std::uint32_t, StepTime> step_times(const store::RunData&);

// What `ns` over all of these steps is in one of them, and of one.
store::Savings savings_over(double ns, const StepTime&);
// … over the steps of the whole run; nothing when no step was told.
std::optional<store::Savings> saved_per_step(const store::RunData&, double ns);

// Deep steps of all processes that called one of these operator uses in one.
std::uint64_t deep_steps(const store::RunData&, const std::set<std::uint32_t>& uses);

}  // namespace castscope::rules
