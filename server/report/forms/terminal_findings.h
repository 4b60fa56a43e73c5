// The findings in the summary for terminals: what is worth most comes first, and what is only worth knowing is one
// line.
#pragma once

#include <cstddef>
#include <string>

#include "server/report/forms/terminal_text.h"
#include "server/report/model/model.h"

namespace castscope::report {

// Everything that there is to say.
TerminalLines all_findings(const Model&, const TerminalText&);

// As much as fits into so many lines: each finding with its place and the begin of its title, then more of their
// titles, then fixes. Where not even that fits, the last findings have their place alone. Where something is left out,
// `more` says how to see it.
TerminalLines findings_within(const Model&, const TerminalText&, std::size_t lines, const std::string& more);
// The number of lines that findings_within() needs to tell the whole first fix.
std::size_t lines_to_first_fix(const Model&, const TerminalText&);

}  // namespace castscope::report
