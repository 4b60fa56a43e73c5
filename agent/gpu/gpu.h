// What the rest of the agent calls of this folder, and all that it knows of it. No torch header here.
#pragma once

#include <atomic>
#include <cstdint>

#include "agent/gpu/work_book.h"
#include "agent/observe/attention.h"

namespace castscope::observe {
struct ThreadState;
}

namespace castscope::gpu {

extern std::atomic<bool> g_waits;
extern bool g_any_device;

// Nothing has met a GPU's tensor yet: whoever meets one says so, and timing begins.
inline bool waits() { return g_waits.load(std::memory_order_relaxed); }
void device_met();
// CASTSCOPE_GPU=on: any operator will do. For jobs in which not PyTorch but another library works on a GPU.
inline bool any_device() { return g_any_device; }

// What is launched from here on is timed: the present step is a deep one.
inline bool timing() { return (observe::attention() & observe::kTiming) != 0; }
// A deep step begins, or goes on as another one; they are over.
void stretch_begins(bool is_step);
void stretch_ends();

// Around work that is launched while timing: what it is for is known when it is over.
struct Work {
  std::uint64_t ticket = 0, outer = 0;  // 0: it is not timed
  bool told_cupti = false;
  explicit operator bool() const { return ticket != 0; }
};
Work work_begins(observe::ThreadState& t);
void work_ends(observe::ThreadState& t, const Work& work, const Purpose& purpose);
// Of a cast, whose launches CUDA events time where CUPTI cannot.
struct CastTicket {
  Work work;
  std::uint64_t outer = 0;  // of the cast around it
};
CastTicket cast_begins(observe::ThreadState& t);
void cast_ends(observe::ThreadState& t, const CastTicket& ticket, std::uint32_t site);

// The work of one cast.
class CastWork {
 public:
  CastWork(observe::ThreadState& t, std::uint32_t site) : t_(t), site_(site) {
    if (timing()) [[unlikely]]
      ticket_ = cast_begins(t);
  }
  ~CastWork() {
    if (ticket_.work) [[unlikely]]
      cast_ends(t_, ticket_, site_);
  }
  CastWork(const CastWork&) = delete;
  CastWork& operator=(const CastWork&) = delete;

 private:
  observe::ThreadState& t_;
  const std::uint32_t site_;
  CastTicket ticket_;
};

// Whether this PyTorch has code for CUDA: its libtorch_cuda is loaded with it.
bool is_cuda_build();
void start();
void fork_begins();
void fork_ends();
// In a forked child: CUDA does not work there, once it did in the parent.
void child_begins();
void exits();

}  // namespace castscope::gpu
