// Numbers of a step that the job tells by castscope.metric.
#pragma once

#include <string_view>

namespace castscope::agent {

// Stores the value with the present step, and counts it. `name` is copied. Called with the GIL held.
void metric_was_told(std::string_view name, double value);

}  // namespace castscope::agent
