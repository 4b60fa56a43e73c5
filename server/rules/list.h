// The rules' functions, one per file of that name.
#pragma once

#include <vector>

#include "server/rules/rules.h"

namespace castscope::rules {

std::vector<Finding> cache_grows(const Rule&, const store::RunData&);
std::vector<Finding> cache_never_cleared(const Rule&, const store::RunData&);
std::vector<Finding> weight_cast_repeatedly(const Rule&, const store::RunData&);

}  // namespace castscope::rules
