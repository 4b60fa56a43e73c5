// CUDA graphs that the job captures. While it captures, the seat must not be taken: that calls functions of CUDA which
// end a capture with an error. A capture is looked at whatever the schedule says: each of its replays is one call, and
// only the capture tells what that is for.
#pragma once

#include <atomic>
#include <cstdint>

namespace castscope::gpu {

extern std::atomic<int> g_captures;
// Whether any thread is capturing.
inline bool is_capturing() { return g_captures.load(std::memory_order_relaxed) > 0; }
// Whether any thread has captured anything so far.
bool captured_any();
// Whether the last capture is not made a graph that can be replayed yet, and ended less than a second ago.
bool is_graph_awaited(std::uint64_t now_ns);

// Takes the imports of the functions that begin and end a capture, and make a graph of it; call it again for objects
// that were loaded since.
void watch_captures();

// Call around fork().
void hold_captures();
void release_captures();

}  // namespace castscope::gpu
