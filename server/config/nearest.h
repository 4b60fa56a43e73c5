// Guesses the name that a misspelt one was meant to be.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace castscope::config {

// Returns the nearest of these names: one that contains the written text, or is a few letters away, whatever their
// case. Returns nothing when none is near.
std::optional<std::string> nearest(std::string_view written, std::span<const std::string_view> names);

// "; did you mean \"linear\"?", or nothing.
std::string meant(std::string_view written, std::span<const std::string_view> names);

}  // namespace castscope::config
