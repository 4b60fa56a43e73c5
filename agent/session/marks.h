// Events that are no casts.
#pragma once

#include <cstdint>

#include "agent/session/thread_state.h"

namespace castscope::observe {

// Writes one into the thread's lane. `site`, `bytes`, `entries` as the kind asks.
void mark(ThreadState& t, lanes::EventKind kind, std::uint32_t site = 0, std::uint8_t flags = 0,
          std::uint64_t bytes = 0, std::uint32_t entries = 0);

}  // namespace castscope::observe
