// The few questions about PyTorch's autocast state that files without torch headers ask.
#pragma once

#include <cstdint>

#include "agent/cpython/python_api.h"

namespace castscope::agent {

// c10::ScalarType that autocast casts to on this c10::DeviceType in the calling thread; 0xff for a device without
// autocast.
std::uint8_t autocast_dtype(std::uint8_t device);
bool autocast_cache_enabled();
// False inside an autocast kernel too: it excludes its own key.
bool autocast_enabled(std::uint8_t device);
bool grad_mode();
// Whether the calling thread runs an autograd graph task.
bool in_backward();
// The calling thread's c10::AutogradState, which stays at one address as long as the thread lives.
const void* autograd_state();
// The Python object of a TensorImpl*, nullptr when it has none.
const PyObject* python_object_of(const void* tensor);
// The Python object of the tensor that this one is a view of; nullptr when it is not a view, or its base has none.
const PyObject* python_object_of_base(const void* tensor);

}  // namespace castscope::agent
