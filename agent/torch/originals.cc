#include "agent/torch/originals.h"

namespace castscope::agent {

void* const* g_originals = nullptr;

}  // namespace castscope::agent
