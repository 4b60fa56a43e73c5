// Suggests the rule whose name somebody may have misspelt.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace castscope::rules {

std::optional<std::string> nearest_rule(std::string_view written);

}  // namespace castscope::rules
