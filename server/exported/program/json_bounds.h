// Whether a text may be parsed as JSON: some kilobytes of brackets would take gigabytes, or all of the stack.
#pragma once

#include <string_view>

namespace castscope::exported {

// A sentence, "" = it may.
std::string_view beyond_bounds(std::string_view json);

}  // namespace castscope::exported
