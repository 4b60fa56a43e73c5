#include "agent/torch/originals.h"

namespace castscope::observe {

void* const* g_originals = nullptr;

}  // namespace castscope::observe
