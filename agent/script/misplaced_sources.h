// Where sources really are that PyTorch names a wrong file for (agent/torchscript/misplaced.h), and which of them are
// methods that were decorated with autocast: torch.jit.script compiles them without it.
#pragma once

#include <string_view>

namespace castscope::observe {

// Asks Python about those that it has not been asked about. Takes the GIL: under no lock of PyTorch.
void find_misplaced_sources() noexcept;

// torch.jit.script is about to raise this about a decorated function: told where that stands. False where it is not
// known. With the GIL.
bool tell_refused_decorator(std::string_view error);

}  // namespace castscope::observe
