// Checks whether it is safe to parse a text as JSON: some kilobytes of brackets could take gigabytes of memory, or the
// whole stack.
#pragma once

#include <string_view>

namespace castscope::exported {

// Returns a sentence that says which bound the text exceeds; "" when it may be parsed.
std::string_view beyond_bounds(std::string_view json);

}  // namespace castscope::exported
