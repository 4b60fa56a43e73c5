// Names native functions of PyTorch by return addresses into them, and remembers what it found.
#pragma once

#include <cstddef>
#include <mutex>

#include "agent/memory/own_memory.h"

namespace castscope::agent {

// Describes the function that a return address lies in. It holds no pointer into the function's library, so it stays
// valid when the library is unloaded.
struct NativeFunction {
  bool in_torch_python = false;       // of the library that binds PyTorch to Python
  bool is_conversion_itself = false;  // the implementation of `to` or `type_as`, which call _to_copy
  bool implements = false;            // the implementation of an operator, or of autograd's engine
  bool is_tensor_iterator = false;    // promotes the arguments of an operator
  bool is_scripts_autocast = false;   // a cast of TorchScript's autocast,
  bool to_full_precision = false;     // … to float32
  memory::OwnString op = {};          // the operator that it calls, as in its symbol ("add_Tensor"); "" = none
};

// Remembers functions by return address: of a model with many places most frames are the same, and the linker looks
// through all symbols of a library to name one. Thread-safe. A forked child makes its own.
class NativeFunctions {
 public:
  // Call it before a walk over the calling thread's stack: forgets everything if a library was unloaded since the last
  // time. After that other code may lie at the same addresses. What is on the stack stays loaded during the walk, and
  // all that was remembered since was on some thread's stack when it was.
  void begin_walk();
  NativeFunction at(const void* return_address);

 private:
  static constexpr std::size_t kMost = 1u << 16;  // PyTorch and its operators have some thousands
  std::mutex mutex_;
  unsigned long long unloads_ = 0;
  memory::OwnMap<const void*, NativeFunction> known_;
};

}  // namespace castscope::agent
