// The policies of the folder policies/ that the castscope binary carries.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace castscope::policy {

// Returns the text of "torch-cpu"; nothing when no policy of that name is shipped.
std::optional<std::string_view> shipped_policy(std::string_view name);
std::vector<std::string_view> shipped_names();  // sorted
std::string_view shipped_operators();
std::string_view shipped_functions();

}  // namespace castscope::policy
