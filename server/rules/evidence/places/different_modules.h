// Counts modules as people do, who take a model and what is wrapped around it for one.
#pragma once

#include <cstddef>
#include <set>

#include "server/store/run/run_data.h"

namespace castscope::rules {

// Returns how many different modules these are. A module counts once, however many outermost modules hold it: DDP, FSDP
// and torch.compile wrap a model, and an average of its weights (EMA) is a copy of it.
std::size_t different_modules(const store::RunData&, const std::set<store::ModuleId>&);

}  // namespace castscope::rules
