// Notes errors where they are made: C++ errors where c10::Error is constructed (TORCH_CHECK and all its kin end there),
// Python errors where code of PyTorch initialises an exception object. The job may catch an error, and then nothing
// else would know of it. Errors are looked at, not touched.
#pragma once

#include "agent/cpython/python_api.h"
#include "agent/interposed/interface.h"

namespace castscope::agent {

// The function to put into the hook's slot; nullptr when the hook is not one of errors.
void* error_hook(castscope_hook hook);
// Watches exactly RuntimeError, ValueError and TypeError; a derived class initialises through its own function, or as
// it did before. Call it once.
void watch_python_errors(const HeldGil& gil);

}  // namespace castscope::agent
