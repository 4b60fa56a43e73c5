// Has CUPTI record functions of CUDA before the first context of a device is made. Where functions that launch were
// recorded when a context was made, they can be switched on and off one by one ever after, and nothing else becomes
// slower. Otherwise whole kinds of functions have to be on, which leaves each call of CUDA slower for as long as the
// process lives (docs/decisions/gpu.md has the figures, from an H100 with CUPTI of CUDA 13.0).
//
// PyTorch asks how many devices there are before it makes a context: from that call on functions are recorded, until
// one of them was called. CUPTI is asked for nothing in a process that never asks for devices.
#pragma once

namespace castscope::gpu {

// Waits for PyTorch's first question for devices.
void watch_first_context();
// Stops waiting. Returns whether functions were recorded when the first context was made.
bool stop_watching_first_context();

// Call around fork().
void hold_first_context();
void release_first_context();

}  // namespace castscope::gpu
