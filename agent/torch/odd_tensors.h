// Tensors that are not plain memory: what wraps others (functorch, Python subclasses, FakeTensor), and what keeps its
// values elsewhere (sparse, nested). Nothing in here runs Python code, dispatches an operator or throws; all of it is
// off the hot path, which tells them by their key set (tensor_layout.h).
#pragma once

#include <c10/core/TensorImpl.h>

#include <cstdint>

namespace castscope::observe {

// FakeTensor, FunctionalTensor, a functorch wrapper around one, or any other Python subclass while this thread traces
// (FakeTensorMode or FunctionalTensorMode is on): the call belongs to tracing.
bool is_traced_wrapper(const c10::TensorImpl* t) noexcept;

// Of a traced one: a Python subclass that is no FakeTensor or FunctionalTensor itself, so that a graph may have several
// plain tensors in its place.
bool is_traced_subclass(const c10::TensorImpl* t) noexcept;

// A tensor on the meta device in the midst of what a FakeTensor's operator does there.
bool is_traced_on_meta(const c10::TensorImpl* t) noexcept;

// Bytes of the values of a sparse or nested tensor; of any other its size times that of an element, and 0 where the
// sizes are symbols or worked out in Python.
std::uint64_t bytes_of_odd(const c10::TensorImpl* t) noexcept;

}  // namespace castscope::observe
