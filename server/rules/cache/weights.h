// What weights are called in findings.
#pragma once

#include <set>
#include <string>

#include "server/store/run_data.h"

namespace castscope::rules {

// "encoder.0.weight", "Linear.bias of Net#2": module and argument, as far as they are known.
std::string weight_name(const store::RunData&, const store::Site&);

// "encoder.0"; the class of an outermost module; "" without one.
std::string module_name(const store::RunData&, const store::Site&);

// The one to speak of: a "….weight" rather than a bias. Of one or more.
const std::string& first_of(const std::set<std::string>& weights);
// "fc.weight is", "fc.weight and 3 other weights are".
std::string subject_of(const std::set<std::string>& weights);

}  // namespace castscope::rules
