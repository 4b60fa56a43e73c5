// Errors where they are made: those of C++ where c10::Error is constructed (TORCH_CHECK and all its kin end there),
// those of Python where an exception object is initialised, as far as code of PyTorch raises it. The job may catch
// them, and then nothing else would know. They are looked at, not touched.
#pragma once

#include "agent/interposed/interface.h"

namespace castscope::observe {

// The function to put into the slot; nullptr when it is no hook of these.
void* error_hook(castscope_hook hook);
// Of exactly RuntimeError, ValueError and TypeError: what derives from them is initialised by its own, or as it was.
// Once, with the GIL held.
void watch_python_errors();

}  // namespace castscope::observe
