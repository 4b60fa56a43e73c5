// The clock that this processor has, and that is read without a call.
#pragma once

#include "agent/lanes/format.h"
#include "agent/machine/ticks.h"

namespace castscope::lanes {

inline constexpr Clock kOwnCounter = machine::kCounter == machine::Counter::kTsc ? Clock::kTsc : Clock::kGenericTimer;

}  // namespace castscope::lanes
