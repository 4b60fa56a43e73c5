// What somebody may have meant who misspelt a name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace castscope::config {

// The nearest of these names: one that contains what was written, or is a few letters away. Nothing when none is near.
std::optional<std::string> nearest(std::string_view written, std::span<const std::string_view> names);

// "; did you mean \"linear\"?", or nothing.
std::string meant(std::string_view written, std::span<const std::string_view> names);

}  // namespace castscope::config
