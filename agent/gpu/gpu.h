// The functions of this feature that other features call. No torch header here.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "agent/gpu/work_book.h"
#include "agent/torch/attention.h"
#include "agent/wiring/features.h"

namespace castscope::agent {
struct ThreadState;
}

namespace castscope::gpu {

using agent::timing;

extern std::atomic<bool> g_waits;
extern bool g_any_device;

// No tensor on a GPU was met yet: the code that meets one says so, and timing begins.
inline bool waits() { return g_waits.load(std::memory_order_relaxed); }
void device_met();
bool is_choice(std::string_view text);  // of CASTSCOPE_GPU
// CASTSCOPE_GPU=on: any operator begins the timing. For jobs in which another library than PyTorch works on a GPU.
inline bool any_device() { return g_any_device; }

// A deep step begins, or goes on as another one; stretch_ends() when deep steps are over.
void stretch_begins(bool is_step);
void stretch_ends();

// Called around work that is launched while timing: the purpose of the work is known when it is over.
using Work = TimedWork;
Work work_begins(agent::ThreadState& t);
void work_ends(agent::ThreadState& t, const Work& work, const Purpose& purpose);
// The same for a cast, whose launches CUDA events time where CUPTI cannot.
TimedCast cast_begins(agent::ThreadState& t);
void cast_ends(agent::ThreadState& t, const TimedCast& cast, std::uint32_t site);

// Whether this PyTorch has code for CUDA: libtorch_cuda is loaded with such a PyTorch.
bool is_cuda_build();
void start();
void fork_begins();
void fork_ends();
// Called in a forked child: CUDA does not work there once it was used in the parent.
void child_begins();
void exits();

}  // namespace castscope::gpu
