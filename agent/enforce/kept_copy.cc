#include "agent/enforce/kept_copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace castscope::enforce {
namespace {

// A weight that is trained is written each step: its pages are tracked only when it was left alone for longer.
constexpr std::uint32_t kSurvivals = 8, kMostSurvivals = 1024;

const c10::StorageImpl* storage_of(const c10::TensorImpl* t) { return t->unsafe_storage().unsafeGetStorageImpl(); }

// One intrusive_ptr: which counter it is.
const void* identity(const c10::VariableVersion& counter) {
  static_assert(sizeof(c10::VariableVersion) == sizeof(void*));
  const void* object;
  std::memcpy(&object, &counter, sizeof object);
  return object;
}

}  // namespace

Glance glance_at(const c10::TensorImpl* t, std::uint32_t optimizer_steps) {
  const c10::VariableVersion& counter = t->version_counter();
  const auto* data =
      static_cast<const char*>(const_cast<c10::StorageImpl*>(storage_of(t))->_mutable_data_ptr_no_checks().get());
  return {identity(counter), data + static_cast<std::size_t>(t->storage_offset()) * t->itemsize(),
          counter.enabled() ? counter.current_version() : 0, optimizer_steps};
}

KeptCopy::KeptCopy(const at::Tensor& source, bool frozen)
    : storage_(source.storage().getWeakStorageImpl()),
      bytes_(static_cast<std::size_t>(source.numel()) * source.itemsize()),
      pays_(frozen),
      track_after_(frozen ? 0 : kSurvivals) {}

// As far as can be told of who was given it: not written through an alias, its memory not taken away.
bool KeptCopy::is_untouched() const {
  return flat_.defined() && flat_.unsafeGetTensorImpl()->version_counter().current_version() == 0 &&
         flat_.storage().nbytes() * 2 >= bytes_ && !shaped_.requires_grad();
}

bool KeptCopy::is_fresh(const Glance& now, bool requires_grad, std::uint64_t region) {
  if (!is_untouched() || !proof_) return false;
  if (now.data != seen_.data || (now.counter == seen_.counter && now.version != seen_.version)) return false;
  if (requires_grad && now.optimizer_steps != seen_.optimizer_steps) return false;
  if (!proof_.holds(now.data, bytes_)) return false;
  served_ = true;
  if (std::exchange(used_in_, region) != region && ++survived_ >= track_after_ && !proof_.is_tracked())
    track_pages(now);
  return true;
}

// Watched first, then looked at once more: what was written in between is seen by the old proof.
void KeptCopy::track_pages(const Glance& now) {
  if (!Proof::can_track(bytes_)) return;
  Proof tracked = Proof::of(now.data, bytes_, true);
  if (tracked.is_tracked() && proof_.holds(now.data, bytes_)) proof_ = std::move(tracked);
}

// Who tracks pages that are written all the time makes each write slow.
void KeptCopy::was_written() {
  if (proof_.is_tracked() && survived_ < kSurvivals)
    track_after_ = std::min(kMostSurvivals, 2 * std::max(track_after_, kSurvivals));
  survived_ = 0;
}

bool KeptCopy::learn(const Glance& now, bool requires_grad) {
  const bool unwritten = now.data == seen_.data && now.counter == seen_.counter && now.version == seen_.version &&
                         (!requires_grad || now.optimizer_steps == seen_.optimizer_steps);
  if (proof_) {  // it did not hold
    if (!served_) pays_ = false;
    was_written();
  } else if (seen_.data != nullptr && unwritten) {
    pays_ = true;
  }
  return pays_;
}

at::Tensor KeptCopy::take_memory() {
  const bool ours = flat_.defined() && flat_.use_count() == 1 && shaped_.use_count() == 1 &&
                    flat_.storage().use_count() == 2 &&
                    flat_.unsafeGetTensorImpl()->version_counter().current_version() == 0;
  at::Tensor memory = ours ? std::move(flat_) : at::Tensor();
  drop();
  return memory;
}

void KeptCopy::put(const at::Tensor& flat, const at::Tensor& shaped, Proof proof, const Glance& seen,
                   const c10::VariableVersion& counter, std::uint64_t region) {
  flat_ = flat;
  shaped_ = shaped;
  proof_ = std::move(proof);
  seen_ = seen;
  counter_ = counter;
  used_in_ = region;
  served_ = false;
}

void KeptCopy::drop() {
  flat_.reset();
  shaped_.reset();
  proof_ = {};
}

}  // namespace castscope::enforce
