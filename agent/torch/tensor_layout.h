// Tells whether a tensor is plain memory with sizes of its own, and which Python object it has.
//
// Source: c10/core/TensorImpl.h of the PyTorch that the agent is built against.
#pragma once

#include <c10/core/DispatchKeySet.h>
#include <c10/core/ScalarType.h>
#include <c10/core/TensorImpl.h>

#include "agent/cpython/python_api.h"

namespace castscope::agent {

using c10::ScalarType;
using c10::TensorImpl;

template <typename Slot>
const PyObject* object_in(Slot* slot) {
  if constexpr (requires { slot->load_pyobj(); })  // from 2.10 on
    return reinterpret_cast<const PyObject*>(slot->load_pyobj());
  else
    return reinterpret_cast<const PyObject*>(slot->_unchecked_untagged_pyobj());
}
inline const PyObject* python_object(const TensorImpl* t) {
  return object_in(const_cast<TensorImpl*>(t)->pyobj_slot());
}

// Tensors that are not plain memory: see odd_tensors.h.
inline constexpr c10::DispatchKeySet kWrapperKeys({c10::DispatchKey::Python, c10::DispatchKey::FuncTorchGradWrapper,
                                                   c10::DispatchKey::FuncTorchBatched,
                                                   c10::DispatchKey::BatchedNestedTensor,
                                                   c10::DispatchKey::Functionalize});
inline constexpr c10::DispatchKeySet kOddKeys =
    kWrapperKeys |
    c10::DispatchKeySet({c10::DispatchKey::Sparse, c10::DispatchKey::SparseCsr, c10::DispatchKey::NestedTensor});

// By value: until 2.7 only a set that may be changed tells its bits.
inline std::uint64_t bits_of(c10::DispatchKeySet keys) { return keys.raw_repr(); }

// PyTorch has autocast on MPS from 2.5 on; before, Undefined.
template <typename Key = c10::DispatchKey>
constexpr Key autocast_key_of_mps() {
  if constexpr (requires { Key::AutocastMPS; })
    return Key::AutocastMPS;
  else
    return Key::Undefined;
}

// Whether the sizes are numbers in the tensor itself. Other sizes may run Python to answer, or throw (a nested tensor).
inline bool has_plain_sizes(const TensorImpl* t) {
  struct Policy : TensorImpl {  // the policy is protected
    static bool custom(const TensorImpl* t) {
      return (t->*&Policy::matches_policy)(TensorImpl::SizesStridesPolicy::CustomSizes);
    }
  };
  return !Policy::custom(t);  // so are sizes that are symbols
}

}  // namespace castscope::agent
