// Leads from a range of TorchScript source to lines of code.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/cpython/code_line.h"

namespace castscope::script {

// The text of a traced node's range is the Python stack at trace time: rows "file(line): function", innermost first.
// The callers of the tracer are left out. Empty when the text is something else: source code.
std::vector<CodeLine> rows_of_trace(std::string_view text);

}  // namespace castscope::script
