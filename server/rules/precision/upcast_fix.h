// Words of the fixes that dtype-silent-upcast names.
#pragma once

#include <string>

#include "server/rules/evidence/operators/use_graph.h"
#include "server/store/run/run_data.h"

namespace castscope::rules {

// For a residual stream in float32, which is exact and costs casts.
std::string fix_of_stream();
// For a recurrent cell that makes a float32 state of its own.
std::string fix_of_state();
// For an operator that takes a float32 value together with one in a half.
std::string fix_of_upcast(const store::RunData&, const UseGraph&, const store::OperatorUse&);

}  // namespace castscope::rules
