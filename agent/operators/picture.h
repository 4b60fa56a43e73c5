// Events of deep steps that only serve the picture. What they tell is counted exactly elsewhere, so they are left out
// where the ring has little room (lanes::most_with_picture).
#pragma once

#include <cstdint>

#include "agent/operators/thread_operators.h"

namespace castscope::operators {

// The operator of `use`, which is no longer among the open ones, ends; it was counted as use `id`.
void tell_operator(agent::ThreadState& t, const ThreadOperators& o, const OpenUse& use, std::uint32_t id,
                   std::uint64_t bytes, std::uint64_t ticks);
// In a deep step: cached_cast returned `source` (a TensorImpl*), as this pass-through site has counted.
void pass_made(agent::ThreadState& t, const void* source, std::uint32_t site);

}  // namespace castscope::operators
