// castscope's knowledge of PyTorch's own Python code: where it casts and which of its globals tell what it did. All of
// it depends on the PyTorch version; what a version does not have is simply not met.
#pragma once

#include <string_view>

#include "agent/cpython/python_api.h"

namespace castscope::agent {

// A function of PyTorch that converts on behalf of autocast: the innermost frame of the conversion.
bool casts_for_autocast(std::string_view file, std::string_view function);

// A file of PyTorch's whose code calls operators that other code asked for: torch.ops, __torch_function__, interpreters
// of graphs.
bool passes_calls_on(std::string_view file);

// A file of PyTorch's that converts what it was told to convert: Module.half().
bool converts_as_told(std::string_view file);

// A file of operators that PyTorch wrote in Python: forward-mode AD runs such decompositions in the midst of the user's
// call.
bool has_operators(std::string_view file);

// The file of torch.amp.GradScaler.
bool is_grad_scaler(std::string_view file);
// A function that changes gradients to bound their norm or their values.
bool clips_gradients(std::string_view file, std::string_view function);
// A file of FSDP, which casts by its own policy; and a file from which FSDP's casts may be called.
bool is_fsdp(std::string_view file);
bool may_cast_for_fsdp(std::string_view file);
// The function of FSDP that casts parameters for the ranks to gather; on a single rank, one by one.
bool gathers_parameters(std::string_view file, std::string_view function);

// A file of PyTorch's that runs the job's code, or operators, on tensors without values.
bool runs_without_values(std::string_view file);

// A file from which Dynamo follows the job's code, instruction by instruction, or torch.export runs it.
bool follows_code(std::string_view file);

// A file whose functions run the job's code to record it for torch.jit.trace, and once more to check the trace.
bool traces_code(std::string_view file);

// Whether `import torch` has come to its end.
bool is_torch_imported(const HeldGil& gil, const PythonApi& api);

// Whether Dynamo compiled anything in this process so far; true where that is not known.
bool dynamo_compiled(const HeldGil& gil, const PythonApi& api);

}  // namespace castscope::agent
