// Finds the true place of sources for which PyTorch names a wrong file (agent/torchscript/misplaced.h), and which of
// them are methods that were decorated with autocast: torch.jit.script compiles them without it.
#pragma once

#include <string_view>

#include "agent/cpython/python_api.h"

namespace castscope::agent {

// Asks Python about the sources that it has not been asked about.
void find_misplaced_sources(const MayWait& may_wait) noexcept;

// torch.jit.script is about to raise this about a decorated function: tells where that stands. Returns false where it
// is not known.
bool tell_refused_decorator(const HeldGil& gil, std::string_view error);

}  // namespace castscope::agent
