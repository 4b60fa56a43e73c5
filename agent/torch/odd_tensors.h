// Tensors that are not plain memory: those that wrap others (functorch, Python subclasses, FakeTensor), and those that
// keep their values elsewhere (sparse, nested). No function here runs Python code, dispatches an operator or throws.
// All of it is off the hot path, which recognizes such tensors by their key set (tensor_layout.h).
#pragma once

#include <c10/core/TensorImpl.h>

#include <cstdint>

namespace castscope::agent {

// FakeTensor, FunctionalTensor, a functorch wrapper around one, or any other Python subclass while this thread traces
// (FakeTensorMode or FunctionalTensorMode is on): the call belongs to tracing.
bool is_traced_wrapper(const c10::TensorImpl* t) noexcept;

// For a traced tensor: whether it is a Python subclass other than FakeTensor and FunctionalTensor, so that a graph may
// have several plain tensors in its place.
bool is_traced_subclass(const c10::TensorImpl* t) noexcept;

// Whether the tensor is on the meta device as part of what a FakeTensor's operator does there.
bool is_traced_on_meta(const c10::TensorImpl* t) noexcept;

// Bytes of the values of a sparse or nested tensor. For any other tensor: its number of elements times the size of one,
// and 0 where the sizes are symbols or computed in Python.
std::uint64_t bytes_of_odd(const c10::TensorImpl* t) noexcept;

}  // namespace castscope::agent
