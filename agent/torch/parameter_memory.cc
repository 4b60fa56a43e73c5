#include "agent/torch/parameter_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>

#include "agent/cpython/module_tree.h"
#include "agent/torch/tensor_facts.h"

namespace castscope::agent {
namespace {

// One native operator does not do the work of a larger tree of modules than this.
constexpr std::size_t kMostModules = 64;

const c10::StorageImpl* storage_of(const TensorImpl* impl) {
  return impl->has_storage() ? impl->unsafe_storage().unsafeGetStorageImpl() : nullptr;
}

// The offset of the TensorImpl in a torch.Tensor object (torch/csrc/autograd/python_variable.h, THPVariable: after
// PyObject_HEAD; until 2.9 a flag came first). It is found by the way back: the TensorImpl knows its object. The word's
// target is read by a call that fails where a direct access would end the process.
std::size_t find_offset(const PyObject* tensor) {
  for (std::size_t offset = 16; offset <= 32; offset += sizeof(void*)) {
    void* const word = read_at<void*>(tensor, offset);
    alignas(TensorImpl) char copy[sizeof(TensorImpl)];
    iovec here{copy, sizeof copy}, there{word, sizeof copy};
    if (word == nullptr || ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) != sizeof copy) continue;
    if (python_object(static_cast<const TensorImpl*>(word)) == tensor) return offset;
  }
  return 0;
}

// nullptr unless `object` is exactly of the class torch.nn.Parameter.
const TensorImpl* impl_of(const PyObject* object) {
  static std::atomic<std::size_t> offset_known{0};
  if (object == nullptr || std::strcmp(type_name(type_of(object)), "Parameter") != 0) return nullptr;
  std::size_t offset = offset_known.load(std::memory_order_relaxed);
  if (offset == 0) offset_known = offset = find_offset(object);
  return offset == 0 ? nullptr : read_at<const TensorImpl*>(object, offset);
}

bool has_parameter_in(const PythonApi& api, PyObject* module, const c10::StorageImpl* storage) {
  PyObject* dict = api.generic_dict(module, nullptr);
  if (dict == nullptr) {
    api.clear_error();
    return false;
  }
  PyObject* parameters = api.dict_item(dict, "_parameters");
  PyObject *key = nullptr, *value = nullptr;
  std::ptrdiff_t at = 0;
  bool found = false;
  const bool has_entries = parameters != nullptr && is_dict(parameters);
  while (!found && has_entries && api.dict_next(parameters, &at, &key, &value) != 0)
    if (const TensorImpl* impl = impl_of(value)) found = storage_of(impl) == storage;
  api.dec_ref(dict);
  return found;
}

}  // namespace

bool is_memory_of_parameter(const HeldGil& gil, const PythonApi& api, PyObject* module, const void* tensor) {
  const c10::StorageImpl* storage = storage_of(static_cast<const TensorImpl*>(tensor));
  if (storage == nullptr) return false;
  bool found = false;
  std::size_t seen = 0;
  (void)walk_modules(gil, api, module, [&](PyObject* below, const std::string&) {
    found = has_parameter_in(api, below, storage);
    return !found && ++seen < kMostModules;
  });
  return found;
}

}  // namespace castscope::agent
