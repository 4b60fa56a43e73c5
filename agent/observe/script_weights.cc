#include "agent/observe/script_weights.h"

#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include <unordered_map>

namespace castscope::observe {
namespace {

const c10::StorageImpl* storage_of(const void* tensor) {
  const auto* impl = static_cast<const c10::TensorImpl*>(tensor);
  return impl->has_storage() ? impl->unsafe_storage().unsafeGetStorageImpl() : nullptr;
}

}  // namespace

// A weak reference keeps the storage's address from being given out again.
struct ScriptWeights::Storages {
  std::unordered_map<const c10::StorageImpl*, c10::weak_intrusive_ptr<c10::StorageImpl>> known;
};

ScriptWeights::ScriptWeights() : storages_(std::make_unique<Storages>()) {}
ScriptWeights::~ScriptWeights() = default;

void ScriptWeights::remember(const void* tensor) {
  const c10::StorageImpl* storage = storage_of(tensor);
  if (storage == nullptr) return;
  std::lock_guard lock(mutex_);
  auto& known = storages_->known;
  if (known.contains(storage)) return;
  if (known.size() >= kMostStorages) std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
  if (known.size() >= kMostStorages) return;
  auto held = c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(const_cast<c10::StorageImpl*>(storage));
  known.emplace(storage, c10::weak_intrusive_ptr<c10::StorageImpl>(held));
}

bool ScriptWeights::holds(const void* tensor) const {
  const c10::StorageImpl* storage = storage_of(tensor);
  if (storage == nullptr) return false;
  std::lock_guard lock(mutex_);
  return storages_->known.contains(storage);
}

}  // namespace castscope::observe
