// Where sources really are that PyTorch names a wrong file for (agent/script/misplaced.h), and which of them are
// methods that were decorated with autocast: torch.jit.script compiles them without it.
#pragma once

namespace castscope::observe {

// Asks Python about those that it has not been asked about. Takes the GIL: under no lock of PyTorch.
void find_misplaced_sources() noexcept;

}  // namespace castscope::observe
