// Functions that stand before the CUDA runtime's launches of kernels. Each calls the original with its arguments as
// they are. Within a cast, events time the launch (event_timing.h).
#pragma once

#include <cstdint>

namespace castscope::gpu {

class EventTiming;

// Takes the imports of the launches in all objects that are loaded; call it again for those loaded since. nullptr:
// nothing here calls a libcudart that has all functions needed (PyTorch may have been linked with it statically). The
// object that it returns lives as long as the process.
EventTiming* watch_launches();

// The ticket of the cast that the calling thread makes, if events time that cast; 0 = none. Defined in gpu.cc, which
// knows threads.
std::uint64_t present_cast() noexcept;

// Call around fork().
void hold_launches();
void release_launches();

}  // namespace castscope::gpu
