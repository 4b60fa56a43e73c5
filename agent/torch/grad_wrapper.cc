#include "agent/torch/grad_wrapper.h"

#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <typeinfo>

#include "agent/cpython/python_api.h"

namespace castscope::agent {
namespace {

using c10::TensorImpl;

// `at::Tensor value_`, the first member of the class, stands right behind its only base.
const TensorImpl* first_member(const TensorImpl* t) { return read_at<const TensorImpl*>(t, sizeof(TensorImpl)); }

// Whether `inside` points to a tensor of the wrapper's dtype: the wrapper's constructor takes the dtype over from what
// it wraps. process_vm_readv reads the tensor, since it fails where a direct access to no tensor would end the process.
bool is_tensor_like(const TensorImpl* inside, const TensorImpl* wrapper) {
  alignas(TensorImpl) char copy[sizeof(TensorImpl)];
  iovec here{copy, sizeof copy}, there{const_cast<TensorImpl*>(inside), sizeof copy};
  if (inside == nullptr || ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) != sizeof copy) return false;
  Dl_info of_virtual_functions;
  return dladdr(read_at<const void*>(copy, 0), &of_virtual_functions) != 0 &&
         reinterpret_cast<const TensorImpl*>(copy)->dtype() == wrapper->dtype();
}

}  // namespace

const TensorImpl* inside_grad_wrapper(const TensorImpl* t) noexcept {
  // By its name: a Python subclass may carry the same dispatch keys.
  if (std::strcmp(typeid(*t).name(), "N2at9functorch13TensorWrapperE") != 0) return nullptr;
  enum Place { kUnknown, kIsFirst, kIsElsewhere };
  static std::atomic<Place> place{kUnknown};
  const TensorImpl* inside = first_member(t);
  if (place.load(std::memory_order_relaxed) == kUnknown) place = is_tensor_like(inside, t) ? kIsFirst : kIsElsewhere;
  return place.load(std::memory_order_relaxed) == kIsFirst ? inside : nullptr;
}

}  // namespace castscope::agent
