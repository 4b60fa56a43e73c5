#include "agent/enforce/present_call.h"

#include "agent/enforce/enforced.h"
#include "agent/session/process.h"
#include "agent/torch/tensor_facts.h"

namespace castscope::enforce {

int module_rule() {
  if (!agent::g_process.has_python) return -1;
  const agent::ThreadState* t = agent::thread_slot();
  return g_enforced->modules->running(t == nullptr ? nullptr : t->python_thread);
}

c10::ScalarType lower_dtype(LowerDtype dtype, c10::DeviceType device) {
  switch (dtype) {
    case LowerDtype::kBFloat16:
      return c10::ScalarType::BFloat16;
    case LowerDtype::kFloat16:
      return c10::ScalarType::Half;
    case LowerDtype::kAmbient:
      break;
  }
  return at::autocast::get_autocast_dtype(device);
}

}  // namespace castscope::enforce
