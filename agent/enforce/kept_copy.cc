#include "agent/enforce/kept_copy.h"

#include <cstring>
#include <utility>

namespace castscope::enforce {
namespace {

const c10::StorageImpl* storage_of(const c10::TensorImpl* t) { return t->unsafe_storage().unsafeGetStorageImpl(); }

// The address of the counter's one intrusive_ptr, which tells counters apart.
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
      payoff_(frozen, Proof::is_little(bytes_)) {}

// Whether the copy is as it was made, as far as can be told: not written through an alias, its memory not taken away or
// exchanged by anyone who was given it.
bool KeptCopy::is_untouched() const {
  return contents_.flat.defined() && contents_.flat.unsafeGetTensorImpl()->version_counter().current_version() == 0 &&
         contents_.flat.storage().nbytes() * 2 >= bytes_ && contents_.shaped.is_alias_of(contents_.flat) &&
         contents_.shaped.storage_offset() == 0 && contents_.shaped.dtype() == contents_.flat.dtype() &&
         !contents_.shaped.requires_grad();
}

bool KeptCopy::is_fresh(const Glance& now, bool requires_grad, std::uint64_t region) {
  if (!is_untouched() || !contents_.proof) return false;
  if (now.data != seen_.data || (now.counter == seen_.counter && now.version != seen_.version)) return false;
  if (requires_grad && now.optimizer_steps != seen_.optimizer_steps) return false;
  if (!contents_.proof.holds(now.data, bytes_)) return false;
  served_ = true;
  payoff_.served();
  used_in_ = region;
  return true;
}

Proving KeptCopy::learn(const Glance& now, bool requires_grad) {
  const bool unwritten = now.data == seen_.data && now.counter == seen_.counter && now.version == seen_.version &&
                         (!requires_grad || now.optimizer_steps == seen_.optimizer_steps);
  const bool failed = static_cast<bool>(contents_.proof);
  if (seen_.data != nullptr && (failed || !unwritten)) payoff_.written(failed && !served_);
  payoff_.used();
  return payoff_.best();
}

void KeptCopy::used_in_region(bool again) {
  if (again)
    use_in_region_.store(UseInRegion::kAgain, std::memory_order_relaxed);
  else if (use_in_region_.load(std::memory_order_relaxed) == UseInRegion::kUnknown)
    use_in_region_.store(UseInRegion::kOnce, std::memory_order_relaxed);
}

at::Tensor KeptCopy::Contents::memory() && {
  const bool ours = flat.defined() && flat.use_count() == 1 && shaped.use_count() == 1 &&
                    flat.storage().use_count() == 2 &&
                    flat.unsafeGetTensorImpl()->version_counter().current_version() == 0;
  shaped.reset();
  proof = {};
  return ours ? std::move(flat) : at::Tensor();
}

KeptCopy::Contents KeptCopy::take() { return std::exchange(contents_, {}); }

void KeptCopy::put(Contents& contents, const Glance& seen, const c10::VariableVersion& counter, std::uint64_t region) {
  std::swap(contents_, contents);
  seen_ = seen;
  counter_ = counter;
  used_in_ = region;
  served_ = false;
}

}  // namespace castscope::enforce
