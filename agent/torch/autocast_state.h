// The few questions to PyTorch's autocast state that files without torch headers ask.
#pragma once

#include <cstdint>

#include "agent/cpython/python_api.h"

namespace castscope::observe {

// c10::ScalarType that autocast casts to on this c10::DeviceType in the calling thread; 0xff for a device without.
std::uint8_t autocast_dtype(std::uint8_t device);
bool autocast_cache_enabled();
// False inside an autocast kernel too: it excludes its own key.
bool autocast_enabled(std::uint8_t device);
bool grad_mode();
// The calling thread runs an autograd graph task.
bool in_backward();
// The calling thread's c10::AutogradState: lives at one address as long as the thread.
const void* autograd_state();
// The Python object of a TensorImpl*, nullptr when it has none.
const PyObject* python_object_of(const void* tensor);
// That of the tensor that it is a view of, nullptr when it is none, or that has none.
const PyObject* python_object_of_base(const void* tensor);

}  // namespace castscope::observe
