// The inputs of an operator, as a RecordFunction has them: only where a listener asks for inputs.
#pragma once

#include <ATen/record_function.h>

namespace castscope::agent {

// An operator that is called boxed gets the whole stack of its caller, whose last values are the operator's
// (Dispatcher::callBoxed in ATen/core/dispatch/Dispatcher.h): TorchScript's interpreter may keep others below.
inline c10::ArrayRef<const c10::IValue> inputs_of(const at::RecordFunction& function) {
  const c10::ArrayRef<const c10::IValue> inputs = function.inputs();
  const std::size_t own = function.num_inputs();
  return own == 0 || inputs.size() <= own ? inputs : inputs.slice(inputs.size() - own);
}

}  // namespace castscope::agent
