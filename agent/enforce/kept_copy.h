// A range of a weight's storage, and its low-precision copy if there is one now. It stays as long as the storage does,
// with what was learned of it: whether proving a copy pays, and how to do it.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <mutex>

#include "agent/enforce/freshness/proof.h"

namespace castscope::enforce {

Glance glance_at(const c10::TensorImpl*, std::uint32_t optimizer_steps);

class KeptCopy {
 public:
  KeptCopy(const at::Tensor& source, bool frozen);

  struct Contents {
    at::Tensor flat, shaped;  // the same memory as a row, and in the shape of the tensor that it was first made of
    Proof proof;  // only for a copy that may outlive its region, or serve uses that PyTorch's cache would not
    // Its memory, to be filled again, if nothing else holds it. Undefined otherwise.
    at::Tensor memory() &&;
  };

  bool is_dead() const { return storage_.use_count() == 0; }
  std::size_t source_bytes() const { return bytes_; }

  // All that follows needs the mutex, which is not held while PyTorch casts.
  std::mutex mutex;

  bool is_here() const { return contents_.flat.defined(); }
  std::uint64_t copy_bytes() const { return contents_.flat.defined() ? contents_.flat.storage().nbytes() : 0; }
  // The same memory, with the sizes and strides of the tensor that it was first made of.
  const at::Tensor& shaped() const { return contents_.shaped; }

  // Whether the copy is proved to be what a cast would give now. It is not once somebody wrote into it. An optimizer
  // writes to weights that require grad, whatever version counters say.
  bool is_fresh(const Glance& now, bool requires_grad, std::uint64_t region);
  // Called when a copy is about to be made because there was no fresh one. Returns the proof that it should have.
  Proving learn(const Glance& now, bool requires_grad);
  Proof prove(const Glance& now, Proving how) const { return Proof::of(now.data, bytes_, how); }
  // Takes all contents out, so that they can be dropped without the mutex; the copy is gone then.
  Contents take();
  // Exchanges `contents` for what is there.
  void put(Contents& contents, const Glance& seen, const c10::VariableVersion& counter, std::uint64_t region);

  // Whether it is used once a region at most, as far as was seen; told when a region ends, or earlier.
  bool is_used_once() const { return use_in_region_.load(std::memory_order_relaxed) == UseInRegion::kOnce; }
  void used_in_region(bool again);

  bool has_proof() const { return static_cast<bool>(contents_.proof); }
  std::uint64_t used_in() const { return used_in_; }

 private:
  enum class UseInRegion : std::uint8_t { kUnknown, kOnce, kAgain };
  bool is_untouched() const;

  const c10::weak_intrusive_ptr<c10::StorageImpl> storage_;
  const std::size_t bytes_;  // bytes of the range, in the source's dtype
  Contents contents_;
  Glance seen_;
  c10::VariableVersion counter_{c10::VariableVersion::DISABLED};  // keeps other counters off the address in `seen_`
  Payoff payoff_;
  std::atomic<UseInRegion> use_in_region_{UseInRegion::kUnknown};
  bool served_ = false;        // this copy was used a second time
  std::uint64_t used_in_ = 0;  // the region of its last use
};

}  // namespace castscope::enforce
