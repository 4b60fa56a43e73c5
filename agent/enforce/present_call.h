// The region and the module that the calling thread is in: the policy's decision depends on them.
#pragma once

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

#include "agent/enforce/decided/decisions.h"

namespace castscope::enforce {

// An index into PolicyTable::modules; -1: the thread runs in no module that has a rule. Call it as an operator begins.
int module_rule();
// "ambient" gives the dtype of that device's autocast region.
c10::ScalarType lower_dtype(LowerDtype dtype, c10::DeviceType device);

}  // namespace castscope::enforce
