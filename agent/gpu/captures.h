// CUDA graphs that the job captures. While it does, the seat must not be taken: that calls functions of CUDA which end
// a capture with an error. And what is captured is looked at whatever the schedule says, since each of its replays is
// one call, of which nothing but the capture tells what it is for.
#pragma once

#include <atomic>

namespace castscope::gpu {

extern std::atomic<int> g_captures;
// In any thread.
inline bool is_capturing() { return g_captures.load(std::memory_order_relaxed) > 0; }

// Takes the imports of the functions that begin and end a capture. Once, when the agent starts.
void watch_captures();

}  // namespace castscope::gpu
