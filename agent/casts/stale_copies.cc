#include "agent/casts/stale_copies.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <cmath>
#include <exception>
#include <limits>
#include <optional>

#include "agent/session/facts.h"
#include "agent/torch/spread_elements.h"
#include "agent/torch/tensor_memory.h"

namespace castscope::agent {

std::atomic<std::uint32_t> g_doubts{0};

namespace {

using lanes::Staleness;

// How many elements of the source go into the checksum, at each cast that is kept and at each hit that is looked at: a
// cast of 32 elements costs more.
constexpr std::uint64_t kInChecksum = 32;
// How many elements are compared with the copy: at each hit of a deep step, and where something was written though the
// checksum is the same (a row of a matrix).
constexpr std::uint64_t kCompared = 256, kComparedWhenWritten = 4096;

std::uint64_t elements_of(const TensorImpl* t) { return static_cast<std::uint64_t>(t->numel_default()); }

std::int64_t offset_in(const TensorImpl* t, std::uint64_t number) {
  return offset_of(number, t->sizes_default().data(), t->strides_default().data(), t->sizes_default().size());
}

std::uint64_t checksum(const TensorImpl* t, const void* data) {
  const auto* bits = static_cast<const std::uint32_t*>(data);
  std::uint64_t sum = 0;
  each_spread(elements_of(t), kInChecksum,
              [&](std::uint64_t number) { sum = mix(sum, bits[offset_in(t, number)], number); });
  return sum;
}

Snapshot snapshot_of(const TensorImpl* t) {
  Snapshot s;
  s.version = version_of(t);
  if (has_plain_sizes(t) && t->has_storage()) s.storage = t->unsafe_storage().unsafeGetStorageImpl();
  if (dtype_of(t) == ScalarType::Float) s.data = memory_of(t);
  if (s.data != nullptr) s.checksum = checksum(t, s.data);
  return s;
}

// Returns true if `copy` may be the result of casting `value`. Kernels differ in how they round the last bit and in how
// they treat the smallest numbers, so both are allowed for here; the checksum finds changes that are so small.
template <typename Low>
bool may_be_cast(float value, Low copy) {
  const auto number = [](Low low) { return static_cast<double>(static_cast<float>(low)); };
  const double unit = number(std::numeric_limits<Low>::epsilon());
  const double least = 2 * number(std::numeric_limits<Low>::denorm_min()) + std::numeric_limits<float>::min();
  const double x = value, y = number(copy);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (std::isinf(y)) return std::fabs(x) > 0.99 * number(std::numeric_limits<Low>::max());
  return std::isfinite(x) && std::fabs(x - y) <= std::fabs(x) * unit + least;
}

template <typename Low>
bool is_copy_as(const TensorImpl* source, const void* from, const TensorImpl* copy, const void* to,
                std::uint64_t most) {
  bool same = true;
  each_spread(elements_of(source), most, [&](std::uint64_t number) {
    same = same && may_be_cast(static_cast<const float*>(from)[offset_in(source, number)],
                               static_cast<const Low*>(to)[offset_in(copy, number)]);
  });
  return same;
}

// Compares elements spread over the tensor. Returns true if all of them may be casts of the source's, and also where
// the copy's values cannot be compared.
bool may_be_copy(const TensorImpl* source, const void* from, const TensorImpl* copy, std::uint64_t most) {
  const void* to = memory_of(copy);
  if (to == nullptr) return true;
  if (source->sizes_default() != copy->sizes_default()) return false;
  switch (dtype_of(copy)) {
    case ScalarType::BFloat16:
      return is_copy_as<c10::BFloat16>(source, from, copy, to, most);
    case ScalarType::Half:
      return is_copy_as<c10::Half>(source, from, copy, to, most);
    default:
      return true;
  }
}

Staleness compare(const Snapshot& before, const Snapshot& now, bool stepped, const TensorImpl* source,
                  const TensorImpl* copy) {
  const bool raised = now.version != before.version;
  const bool moved = now.data != before.data || now.storage != before.storage;
  if (before.data == nullptr || now.data == nullptr) {
    // The values cannot be read. The same storage may have been freed and filled again (FSDP).
    if (raised) return Staleness::kVersion;
    return now.storage != before.storage ? Staleness::kMoved : Staleness::kNone;
  }
  const std::uint64_t most = raised || moved || stepped ? kComparedWhenWritten : kCompared;
  const bool same = now.checksum == before.checksum && may_be_copy(source, now.data, copy, most);
  if (same) return raised ? Staleness::kSameValues : Staleness::kNone;
  if (raised) return Staleness::kVersion;
  return moved ? Staleness::kMoved : Staleness::kUnversioned;
}

Staleness look_at_copy(Recording& r, const TensorImpl* source, const TensorImpl* copy) {
  const std::optional<KeptSources::Kept> kept = r.kept_sources.find(source);
  if (!kept) return Staleness::kNone;
  const std::uint32_t steps = r.kept_sources.steps(), version = version_of(source);
  const bool unchanged = version == kept->version && steps == kept->steps;
  Staleness how = kept->how;
  if (!unchanged || deep()) how = compare(kept->as_cast, snapshot_of(source), steps != kept->steps, source, copy);
  const bool all = r.kept_sources.looked_at(source, version, steps, how);
  if (all) g_doubts.fetch_and(~static_cast<std::uint32_t>(kOptimizerStepped), std::memory_order_relaxed);
  return how == Staleness::kSameValues && unchanged ? Staleness::kNone : how;
}

void look_and_tell(const MayWait& may_wait, ThreadState& t, const TensorImpl* source, const TensorImpl* copy,
                   Counted hit) {
  Recording& r = *g_process.recording.load(std::memory_order_relaxed);
  const Staleness how = look_at_copy(r, source, copy);
  if (hit.site == 0) return;
  if ((g_doubts.load(std::memory_order_relaxed) & kOlderCopies) != 0 && !r.kept_sources.find(source))
    note_fact(may_wait, t, {.kind = lanes::FactKind::kOlderCopy, .subject = hit.site});
  if (how != Staleness::kNone)
    note_fact(may_wait, t,
              {.kind = lanes::FactKind::kStaleHit, .detail = static_cast<std::uint16_t>(how), .subject = hit.site});
  const bool grad_mode = static_cast<const c10::AutogradState*>(t.autograd)->get_grad_mode();
  if (grad_mode && standing_of(source).requires_grad && !standing_of(copy).requires_grad)
    note_fact(may_wait, t, {.kind = lanes::FactKind::kLostGrad, .subject = hit.site});
}

}  // namespace

void copy_kept(Recording& r, const TensorImpl* source, lanes::Counter& counter) noexcept try {
  counter.version = version_of(source);
  r.kept_sources.put(source, snapshot_of(source));
} catch (const std::exception&) {  // out of memory: nothing is known of this copy
}

std::uint32_t content_of(const TensorImpl* source) noexcept {
  if (dtype_of(source) != ScalarType::Float) return 0;
  const void* data = memory_of(source);
  if (data == nullptr) return 0;
  const std::uint64_t sum = checksum(source, data);
  return static_cast<std::uint32_t>(sum >> 32 ^ sum) | 1;
}

void look_at_hit(ThreadState& t, const TensorImpl* source, const TensorImpl* copy, Counted hit) noexcept try {
  const std::uint64_t begin = t.lane.now();
  hit.counter->version = version_of(source);
  look_and_tell(MayWait::no_lock_held(), t, source, copy, hit);  // PyTorch's own function has returned
  if (deep())
    g_process.recording.load()->segment.header().deep_ticks.fetch_add(t.lane.now() - begin, std::memory_order_relaxed);
} catch (const std::exception&) {
}

void copies_may_be_older() { g_doubts.fetch_or(kOlderCopies, std::memory_order_relaxed); }

void copies_cleared_unseen(Recording& r) {
  r.kept_sources.clear();
  g_doubts.fetch_and(~static_cast<std::uint32_t>(kOptimizerStepped), std::memory_order_relaxed);
}

void copies_cleared(Recording& r) {
  r.kept_sources.clear();
  g_doubts.fetch_and(~static_cast<std::uint32_t>(kOptimizerStepped | kOlderCopies), std::memory_order_relaxed);
}

void copies_may_be_stale(Recording& r) {
  if (r.kept_sources.optimizer_stepped()) g_doubts.fetch_or(kOptimizerStepped, std::memory_order_relaxed);
}

void doubt_all_hits(bool on) {
  if (on)
    g_doubts.fetch_or(kInDeepStep, std::memory_order_relaxed);
  else
    g_doubts.fetch_and(~static_cast<std::uint32_t>(kInDeepStep), std::memory_order_relaxed);
}

void stale_copies_after_fork() { g_doubts = 0; }

}  // namespace castscope::agent
