// Explains why nothing was cast in a region that asks for autocast.
#pragma once

#include <string_view>

#include "server/store/run/run_data.h"

namespace castscope::report {

// One reason for each region: "no_device", "no_such_dtype", "script_autocast_off", "other_device" (the
// region's operators work on tensors of another device), "python" (a script calls Python code in the region); "" where
// something was cast, or where the reason is not known.
store::Table<std::string_view, store::Region> why_nothing_was_cast(const store::RunData&);

}  // namespace castscope::report
