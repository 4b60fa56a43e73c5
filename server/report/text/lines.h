// Text for terminals, broken into lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace castscope::report {

// Counts characters, not bytes: paths and units are UTF-8.
std::size_t columns(std::string_view text);

// Breaks at spaces; lines after the first get the second indent. Ends with a newline.
std::string wrapped(const std::string& first_indent, const std::string& indent, std::string_view text, int width);

}  // namespace castscope::report
