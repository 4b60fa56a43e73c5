// Whether a process is still there: its pid, and the time it was started, which tells a reused pid apart.
#pragma once

#include <cstdint>

namespace castscope::relay {

// False also for a zombie: it does nothing any more. start_ticks 0 = not known, any process of that pid will do.
bool is_alive(std::int64_t pid, std::uint64_t start_ticks);

}  // namespace castscope::relay
