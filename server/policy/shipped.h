// What castscope carries inside of the folder policies/.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace castscope::policy {

// "torch-cpu" → its text; nothing when no policy of that name is shipped.
std::optional<std::string_view> shipped_policy(std::string_view name);
std::vector<std::string_view> shipped_names();  // sorted
std::string_view shipped_operators();
std::string_view shipped_functions();

}  // namespace castscope::policy
