// What is wrong with a program, told from its file alone.
#pragma once

#include <vector>

#include "server/exported/run_dtypes.h"
#include "server/store/run/run_data.h"

namespace castscope::exported {

// "linear ×2, matmul", in the order in which they come first; the rest is counted beyond the tenth.
std::string names_and_counts(const std::vector<const Node*>&);

// One for each cause: what follows from it is counted in it. All of the rules' own severity.
std::vector<store::Finding> findings_of(const Program&, const Walk&);

}  // namespace castscope::exported
