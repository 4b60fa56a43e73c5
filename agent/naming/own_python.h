// Recognizes the package castscope (agent/python) by the files that its code lies in.
#pragma once

#include <string_view>

namespace castscope::agent {

// The file of castscope.amp's handle, which keeps an autocast region open over training steps.
constexpr bool is_amp_handle(std::string_view file) { return file.ends_with("/castscope/amp/handle.py"); }

}  // namespace castscope::agent
