#include "agent/session/script_weights.h"

#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "agent/memory/own_memory.h"

namespace castscope::agent {
namespace {

const c10::StorageImpl* storage_of(const void* tensor) {
  const auto* impl = static_cast<const c10::TensorImpl*>(tensor);
  return impl->has_storage() ? impl->unsafe_storage().unsafeGetStorageImpl() : nullptr;
}

}  // namespace

// Read without a lock, at each cast that TorchScript makes: rows are filled once, and a table that is too small is
// followed by a larger one. The tables before it are kept for threads that still read them; all of them together are no
// larger than the last.
struct ScriptWeights::Table {
  explicit Table(std::size_t capacity) : rows(capacity) {}
  std::atomic<const void*>& row_of(const void* storage) {
    std::size_t at = reinterpret_cast<std::uintptr_t>(storage) * 0x9e3779b97f4a7c15u >> 32 & (rows.size() - 1);
    for (;; at = (at + 1) & (rows.size() - 1)) {
      const void* there = rows[at].load(std::memory_order_acquire);
      if (there == storage || there == nullptr) return rows[at];
    }
  }
  memory::OwnVector<std::atomic<const void*>> rows;
};

// A weak reference keeps the storage's address from being given out again.
struct ScriptWeights::Storages {
  memory::OwnVector<c10::weak_intrusive_ptr<c10::StorageImpl>> held;
  std::vector<std::unique_ptr<Table>> tables;
};

ScriptWeights::ScriptWeights() : storages_(std::make_unique<Storages>()) {}
ScriptWeights::~ScriptWeights() = default;

bool ScriptWeights::knows(const void* storage) const {
  Table* table = table_.load(std::memory_order_acquire);
  return table != nullptr && table->row_of(storage).load(std::memory_order_acquire) == storage;
}

bool ScriptWeights::holds(const void* tensor) const {
  const c10::StorageImpl* storage = storage_of(tensor);
  return storage != nullptr && knows(storage);
}

// The table is full: makes room when half of its storages are gone. A reader may meanwhile miss a storage that stays.
bool ScriptWeights::drop_expired() {
  if (refused_++ % (kMostStorages / 16) != 0) return false;
  auto& held = storages_->held;
  const auto gone = [](const auto& storage) { return storage.expired(); };
  if (static_cast<std::size_t>(std::count_if(held.begin(), held.end(), gone)) < held.size() / 2) return false;
  Table* table = table_.load(std::memory_order_relaxed);
  for (std::atomic<const void*>& row : table->rows) row = nullptr;
  std::erase_if(held, gone);
  for (const auto& storage : held) table->row_of(storage._unsafe_get_target()) = storage._unsafe_get_target();
  return true;
}

void ScriptWeights::remember(const void* tensor) {
  const c10::StorageImpl* storage = storage_of(tensor);
  if (storage == nullptr || knows(storage)) return;
  std::lock_guard lock(mutex_);
  if (knows(storage) || (storages_->held.size() >= kMostStorages && !drop_expired())) return;
  Table* table = table_.load(std::memory_order_relaxed);
  if (table == nullptr || (storages_->held.size() + 1) * 2 > table->rows.size()) {
    auto larger = std::make_unique<Table>(table == nullptr ? 64 : table->rows.size() * 2);
    if (table != nullptr)
      for (const std::atomic<const void*>& row : table->rows)
        if (const void* known = row.load(std::memory_order_relaxed)) larger->row_of(known) = known;
    table = storages_->tables.emplace_back(std::move(larger)).get();
    table_.store(table, std::memory_order_release);
  }
  auto owner = c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(const_cast<c10::StorageImpl*>(storage));
  storages_->held.emplace_back(owner);
  table->row_of(storage).store(storage, std::memory_order_release);
}

}  // namespace castscope::agent
