// How long the steps of each process took, for what a finding would save of them.
#pragma once

#include <cstdint>
#include <map>

#include "server/store/run_data.h"

namespace castscope::rules {

struct StepTime {
  std::uint64_t steps = 0;
  double ns = 0;  // from the begin of the first to the end of the last
};
// By process; those without steps, or with but one, are left out.
std::map<std::uint32_t, StepTime> step_times(const store::RunData&);

}  // namespace castscope::rules
