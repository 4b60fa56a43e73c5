// A range of a weight's storage, and its low-precision copy if there is one now. It stays as long as the storage does,
// with what was learned of it: whether to prove a copy pays, and how.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <mutex>

#include "agent/enforce/proof.h"

namespace castscope::enforce {

Glance glance_at(const c10::TensorImpl*, std::uint32_t optimizer_steps);

class KeptCopy {
 public:
  KeptCopy(const at::Tensor& source, bool frozen);

  bool is_dead() const { return storage_.use_count() == 0; }
  std::size_t source_bytes() const { return bytes_; }

  // All that follows under the mutex, which is not held while PyTorch casts.
  std::mutex mutex;

  bool is_here() const { return flat_.defined(); }
  std::uint64_t copy_bytes() const { return flat_.defined() ? flat_.storage().nbytes() : 0; }
  const at::Tensor& flat() const { return flat_; }
  // The same memory, with the sizes and strides of the tensor that it was first made of.
  const at::Tensor& shaped() const { return shaped_; }

  // Proved to be what a cast now would give. A copy that somebody wrote into is none any more; an optimizer writes to
  // what requires grad, whatever version counters say.
  bool is_fresh(const Glance& now, bool requires_grad, std::uint64_t region);
  // A copy is about to be made because there was no fresh one. Whether it should have a proof.
  bool learn(const Glance& now, bool requires_grad);
  Proof prove(const Glance& now) const { return Proof::of(now.data, bytes_, survived_ >= track_after_); }
  // Its memory, if nobody else has it: to be filled again. Undefined otherwise. The copy is gone.
  at::Tensor take_memory();
  void put(const at::Tensor& flat, const at::Tensor& shaped, Proof proof, const Glance& seen,
           const c10::VariableVersion& counter, std::uint64_t region);
  void drop();

  bool has_proof() const { return static_cast<bool>(proof_); }
  bool may_outlive_region() const { return has_proof() && pays_; }
  std::uint64_t used_in() const { return used_in_; }

 private:
  bool is_untouched() const;
  void track_pages(const Glance& now);
  void was_written();

  const c10::weak_intrusive_ptr<c10::StorageImpl> storage_;
  const std::size_t bytes_;  // of the range, in the source's dtype
  at::Tensor flat_, shaped_;
  Proof proof_;  // only of a copy that may outlive its region, or serve uses that PyTorch's cache would not
  Glance seen_;
  c10::VariableVersion counter_{c10::VariableVersion::DISABLED};  // keeps the address in `seen_` its own
  bool pays_;                   // a proof: the weight is used again before it is written
  bool served_ = false;         // this copy, a second time
  std::uint64_t used_in_ = 0;   // region
  std::uint32_t survived_ = 0;  // regions in which it was found unwritten, since it last was written
  std::uint32_t track_after_;   // … until its pages are tracked
};

}  // namespace castscope::enforce
