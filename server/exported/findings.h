// Finds what is wrong with a program from its file alone.
#pragma once

#include <vector>

#include "server/exported/run_dtypes.h"
#include "server/store/run/run_data.h"

namespace castscope::exported {

// Returns "linear ×2, matmul", in the order in which the operators first appear; beyond the tenth it only counts them.
std::string names_and_counts(const std::vector<const Node*>&);

// Returns one finding for each cause, which counts the consequences in its evidence. Each has its rule's own severity.
std::vector<store::Finding> findings_of(const Program&, const Walk&);

}  // namespace castscope::exported
