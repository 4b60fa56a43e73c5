#include "agent/operators/math_settings.h"

#include <atomic>

#include "agent/session/process.h"
#include "agent/torch/torch_seam.h"

namespace castscope::operators {

void tell_math_settings(agent::Recording& recording) {
  // A forked child cannot use CUDA if its parent did.
  static std::atomic<int> told{-1};
  const int allowed = agent::tf32_is_allowed() ? 1 : 0;
  if (told.exchange(allowed, std::memory_order_relaxed) != allowed)
    recording.definitions.attribute("gpu_math", allowed ? "allow_tf32=1" : "allow_tf32=0");
}

}  // namespace castscope::operators
