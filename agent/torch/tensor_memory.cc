#include "agent/torch/tensor_memory.h"

#include "agent/torch/tensor_facts.h"

namespace castscope::agent {

const void* memory_of(const TensorImpl* t) noexcept {
  const c10::DispatchKeySet keys = t->key_set();
  if (!t->is_cpu() || keys.has_any(kOddKeys) || !keys.has(c10::DispatchKey::CPU)) return nullptr;
  if (t->layout() != c10::kStrided || !has_plain_sizes(t) || !t->has_storage()) return nullptr;
  const c10::IntArrayRef sizes = t->sizes_default(), strides = t->strides_default();
  std::uint64_t last = static_cast<std::uint64_t>(t->storage_offset());
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0 || strides[d] < 0) return nullptr;
    last += static_cast<std::uint64_t>(sizes[d] - 1) * static_cast<std::uint64_t>(strides[d]);
  }
  const c10::StorageImpl* storage = t->unsafe_storage().unsafeGetStorageImpl();
  const auto bytes = static_cast<std::uint64_t>(storage->sym_nbytes().maybe_as_int().value_or(0));
  if ((last + 1) * t->itemsize() > bytes) return nullptr;
  // Reads it without asking for a copy of memory that is shared until it is written to.
  const auto* data =
      static_cast<const char*>(const_cast<c10::StorageImpl*>(storage)->_mutable_data_ptr_no_checks().get());
  return data == nullptr ? nullptr : data + static_cast<std::uint64_t>(t->storage_offset()) * t->itemsize();
}

}  // namespace castscope::agent
