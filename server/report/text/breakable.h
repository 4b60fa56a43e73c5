// Long names of files, modules and functions, on a page that breaks its lines.
#pragma once

#include <string_view>

#include "server/report/text/html_writer.h"

namespace castscope::report {

// Writes text that can break within its long words: after "/", "_", ".", ":" and "-", else between words written
// together, else every 14 characters. A line number stays with the name of its file.
void write_breakable(Html&, std::string_view text);

}  // namespace castscope::report
