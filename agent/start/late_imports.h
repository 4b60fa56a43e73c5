// The way to PyTorch's functions in a process that was running before the preload library came. The loader has bound
// PyTorch's calls by then, and exported functions of the same names come too late: so the addresses in the tables of
// loaded objects are replaced, by those of preload's entry points.
#pragma once

#include "agent/interposed/interface.h"

namespace castscope::agent {

void take_imports(const castscope_preload& preload);
// In what was loaded since, and where the loader bound a call meanwhile. Does nothing in any other process.
void take_later_imports() noexcept;

}  // namespace castscope::agent
