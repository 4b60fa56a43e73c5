// CUDA graphs that the job captures. While it does, the seat must not be taken: that calls functions of CUDA which end
// a capture with an error. And what is captured is looked at whatever the schedule says, since each of its replays is
// one call, of which nothing but the capture tells what it is for.
#pragma once

#include <atomic>
#include <cstdint>

namespace castscope::gpu {

extern std::atomic<int> g_captures;
// In any thread.
inline bool is_capturing() { return g_captures.load(std::memory_order_relaxed) > 0; }
// So far, by anyone.
bool captured_any();
// What was captured last is not made a graph that can be replayed yet, and its capture ended less than a second ago.
bool is_graph_awaited(std::uint64_t now_ns);

// Takes the imports of the functions that begin and end a capture, and make a graph of it; once more for objects that
// were loaded since.
void watch_captures();

// Around fork().
void hold_captures();
void release_captures();

}  // namespace castscope::gpu
