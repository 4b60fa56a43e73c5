// Finds whose memory a tensor has that Python never had. A native operator may make `w.t()` of a module's parameter
// below autograd (nn.TransformerEncoderLayer's fast path does): the result is not a Parameter or a view, and has no
// history; only the storage still shows the parameter.
//
// Call it only at the first sight of a site. No torch header here.
#pragma once

#include "agent/cpython/python_api.h"

namespace castscope::agent {

// True if a parameter of `module` (a torch.nn.Module), or of one of the modules below it, has the storage of `tensor`
// (a TensorImpl*). False where the layout of Python's tensors is not understood.
bool is_memory_of_parameter(const HeldGil& gil, const PythonApi& api, PyObject* module, const void* tensor);

}  // namespace castscope::agent
