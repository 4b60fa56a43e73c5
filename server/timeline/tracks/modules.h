// The levels of a module's path.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::timeline {

// A module changes no more rows than these, however deep it lies: so an operator adds at most so many intervals.
inline constexpr std::size_t kMostModuleLevels = 6;

// The model, then each part of the path; a number belongs to a name right before it ("layer.0"). Deeper levels are left
// out. The viewer's page splits paths in the same way (ui/src/model/definitions.ts).
std::vector<std::string> module_levels(const store::Module&);

}  // namespace castscope::timeline
