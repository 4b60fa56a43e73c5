// A tensor's values as they lie in memory, for code that looks at some of them: nothing is copied, no operator is
// called, and the tensor is not changed.
#pragma once

#include <c10/core/TensorImpl.h>

namespace castscope::agent {

// The address of its elements, if it is dense memory of this process, on the CPU, with all of them in it. nullptr for
// any other tensor: reading it would cost, run code, or not be possible (a storage may have been freed under a tensor
// that keeps its sizes, as FSDP does).
const void* memory_of(const c10::TensorImpl* t) noexcept;

}  // namespace castscope::agent
