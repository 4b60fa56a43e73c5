// Events that are not casts.
#pragma once

#include <cstdint>

#include "agent/session/thread_state.h"

namespace castscope::agent {

// Writes an event into the thread's lane. `site`, `bytes` and `entries` are what the kind asks for.
void mark(ThreadState& t, lanes::EventKind kind, std::uint32_t site = 0, std::uint8_t flags = 0,
          std::uint64_t bytes = 0, std::uint32_t entries = 0);

}  // namespace castscope::agent
