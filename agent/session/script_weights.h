// The weights of scripted modules. TorchScript's first runs of a function cast the parameters themselves, leaves that
// require grad; its optimized graph casts detached copies of them, which look like any input. Parameter and copy share
// the storage, which is remembered from the first runs on. The constants of a graph (a frozen model's weights) are
// remembered from the moment in which TorchScript folds their conversion; where it folds nothing
// (torch._C._jit_set_profiling_mode(False)) they look like any input.
//
// Storages are kept as weak references, so that no other storage gets the address of a weight that is gone.
// Thread-safe, and read without a lock. No torch header here.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

namespace castscope::agent {

class ScriptWeights {
 public:
  ScriptWeights();
  ~ScriptWeights();
  // Remembers a place in native code from which TorchScript casts: there are two, and none is known before the first is
  // met.
  void called_from(const void* caller) {
    for (std::atomic<const void*>& known : callers_) {
      const void* none = nullptr;
      if (known.compare_exchange_strong(none, caller) || none == caller) return;
    }
  }
  bool calls(const void* caller) const {
    for (const std::atomic<const void*>& known : callers_)
      if (known.load(std::memory_order_relaxed) == caller) return true;
    return false;
  }
  void remember(const void* tensor);  // TensorImpl*
  bool holds(const void* tensor) const;

 private:
  std::array<std::atomic<const void*>, 4> callers_{};
  static constexpr std::size_t kMostStorages = 1 << 16;
  struct Table;
  struct Storages;
  bool knows(const void* storage) const;
  bool drop_expired();
  std::atomic<Table*> table_{nullptr};
  std::mutex mutex_;  // taken by threads that remember a storage; no other thread waits
  std::size_t refused_ = 0;
  std::unique_ptr<Storages> storages_;
};

}  // namespace castscope::agent
