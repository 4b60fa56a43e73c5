// Functions that stand before the CUDA runtime's launches of kernels: each calls the original with its arguments as
// they are. Within a cast the launch is timed by events (event_timing.h).
#pragma once

#include <cstdint>

namespace castscope::gpu {

class EventTiming;

// Takes the imports of the launches, of all objects that are loaded; once more for those loaded since. nullptr: nothing
// here calls a libcudart that has all that is needed (PyTorch may have been linked with it statically). Whom it gives
// back lives as long as the process.
EventTiming* watch_launches();

// The ticket of the cast that the calling thread makes, if that is timed by events; 0 = none. Is part of gpu.cc, which
// knows threads.
std::uint64_t present_cast() noexcept;

// Around fork().
void hold_launches();
void release_launches();

}  // namespace castscope::gpu
