// The graph of a step for Graphviz (`castscope report -f dot run.castscope | dot -Tsvg`): every operator, modules as
// clusters, casts as marks on the edges. Nothing is folded.
#pragma once

#include <string>

#include "server/store/run/run_data.h"

namespace castscope::report {

std::string dot_text(const store::RunData&);

// A text as it may stand between quotes in dot: quotes and backslashes escaped, line ends as \n.
std::string dot_escaped(std::string_view text);

}  // namespace castscope::report
