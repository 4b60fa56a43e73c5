// The heading of a run file as a line of JSON, and back. Only what a collector keeps for itself is written like this:
// it has no form that others may rely on.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/store/read/run_heading.h"

namespace castscope::cli {

// All of it but the run's policy. Nothing = a text in it is not UTF-8, and would not come back as it is.
std::optional<std::string> json_of(const store::RunHeading& heading);
std::optional<store::RunHeading> heading_of(std::string_view json);

}  // namespace castscope::cli
