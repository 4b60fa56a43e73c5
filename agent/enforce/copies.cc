#include "agent/enforce/copies.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/_to_copy_ops.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "agent/enforce/edges.h"
#include "agent/memory/own_memory.h"
#include "agent/observe/tensor_facts.h"
#include "agent/observe/tensor_memory.h"

namespace castscope::enforce {
namespace {

using c10::ScalarType;
using c10::TensorImpl;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  a = (a ^ b * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
  return a ^ a >> 32;
}

bool is_dense_memory(const TensorImpl* t) {
  return observe::has_plain_sizes(t) && t->is_non_overlapping_and_dense_default() && t->numel_default() > 0 &&
         observe::memory_of(t) != nullptr;
}

// The weight as a row of its elements as they lie in memory.
at::Tensor row_of(const at::Tensor& arg) {
  at::Tensor row = at::detail::make_tensor<TensorImpl>(c10::Storage(arg.storage()),
                                                       c10::DispatchKeySet(c10::DispatchKey::CPU), arg.dtype());
  const std::int64_t numel = arg.numel(), stride = 1;
  row.unsafeGetTensorImpl()->set_sizes_and_strides(c10::IntArrayRef(numel), c10::IntArrayRef(stride),
                                                   arg.storage_offset());
  return row;
}

// Not inference, no grad, below autograd: what a copy is made under must not show in it. Into `old` where that can be
// filled again: large memory that is new costs more to get than to fill.
at::Tensor converted(const at::Tensor& arg, ScalarType to, at::Tensor old) {
  std::optional<c10::InferenceMode> normal;
  if (c10::InferenceMode::is_enabled()) normal.emplace(false);
  at::AutoDispatchBelowADInplaceOrView below;
  const at::Tensor row = row_of(arg);
  if (old.defined()) return old.copy_(row);
  return at::_ops::_to_copy::call(row, to, std::nullopt, std::nullopt, std::nullopt, false, std::nullopt);
}

}  // namespace

std::size_t Copies::Hash::operator()(const EdgeKey& k) const noexcept {
  return mixed(reinterpret_cast<std::uint64_t>(k.source), static_cast<std::uint64_t>(k.to));
}
std::size_t Copies::Hash::operator()(const RangeKey& k) const noexcept {
  return mixed(mixed(reinterpret_cast<std::uint64_t>(k.storage), static_cast<std::uint64_t>(k.offset)),
               mixed(static_cast<std::uint64_t>(k.numel), static_cast<std::uint64_t>(k.to)));
}

at::Tensor Copies::cast(const at::Tensor& arg, ScalarType to, Kind kind, const Source& source, Outcome& outcome) {
  if (kind == Kind::kLeaf) return leaf(arg, to, outcome);
  if (!is_dense_memory(arg.unsafeGetTensorImpl())) return {};
  at::Tensor copy = data(arg, to, false, outcome);
  const bool history = source.grad_mode && source.standing.requires_grad && !source.inference_mode;
  if (!history && copy.sizes() == arg.sizes() && copy.strides() == arg.strides()) return copy;
  copy = alias_of(copy, arg.unsafeGetTensorImpl());
  if (history) give_history(copy, arg);
  return copy;
}

Glance Copies::glance(const at::Tensor& arg) const {
  return glance_at(arg.unsafeGetTensorImpl(), optimizer_steps_.load(std::memory_order_relaxed));
}

at::Tensor Copies::served(const at::Tensor& arg, ScalarType to) {
  const Glance now = glance(arg);
  std::lock_guard lock(lock_);
  const auto found = edges_.find({arg.unsafeGetTensorImpl(), to});
  if (found != edges_.end() && found->second.seen == now) [[likely]]
    return found->second.copy;
  return {};
}

// Another thread may have been first: then its copy is the region's.
at::Tensor Copies::keep_edge(const at::Tensor& arg, ScalarType to, const at::Tensor& copy, const Glance& seen) {
  Edge old;  // of a weight that was written within the region; let go of outside the lock
  std::lock_guard lock(lock_);
  Edge& edge = edges_[{arg.unsafeGetTensorImpl(), to}];
  if (edge.copy.defined() && edge.seen == seen) return edge.copy;
  old = std::exchange(edge, Edge{copy, seen});
  return copy;
}

void Copies::adopt(const at::Tensor& arg, ScalarType to, const at::Tensor& copy) {
  keep_edge(arg, to, copy, glance(arg));
}

at::Tensor Copies::leaf(const at::Tensor& arg, ScalarType to, Outcome& outcome) {
  if (at::Tensor copy = served(arg, to); copy.defined()) [[likely]]
    return copy;
  const TensorImpl* impl = arg.unsafeGetTensorImpl();
  if (!is_dense_memory(impl)) return {};
  const Glance now = glance(arg);
  at::Tensor copy = alias_of(data(arg, to, true, outcome), impl);
  give_history(copy, arg);
  return keep_edge(arg, to, copy, now);
}

// The copy, in the shape of one of the tensors on that range. `leaf`: it is kept for this region even if nothing proves
// it: its edge answers for it, as PyTorch's cache would.
at::Tensor Copies::data(const at::Tensor& arg, ScalarType to, bool leaf, Outcome& outcome) {
  const TensorImpl* impl = arg.unsafeGetTensorImpl();
  const bool requires_grad = arg.requires_grad();
  const std::uint64_t region = region_.load(std::memory_order_relaxed);
  const std::shared_ptr<KeptCopy> range = range_of(arg, to, !requires_grad);
  const Glance now = glance_at(impl, optimizer_steps_.load(std::memory_order_relaxed));
  const bool room = has_room(range->source_bytes() / 2);
  Proof proof;
  at::Tensor memory;
  {
    std::lock_guard lock(range->mutex);
    if (range->is_fresh(now, requires_grad, region)) return range->shaped();
    const bool wanted = range->learn(now, requires_grad);
    memory = range->take_memory();
    if (wanted && room) proof = range->prove(now);
  }
  if (made_bytes_.fetch_add(range->source_bytes(), std::memory_order_relaxed) > kMostUnlooked) forget_the_dead();
  const at::Tensor flat = converted(arg, to, std::move(memory));
  at::Tensor shaped = alias_of(flat, impl);
  std::lock_guard lock(range->mutex);
  outcome = {.converted = true, .kept = leaf || proof};
  range->put(outcome.kept ? flat : at::Tensor(), outcome.kept ? shaped : at::Tensor(), std::move(proof), now,
             impl->version_counter(), region);
  return shaped;
}

std::shared_ptr<KeptCopy> Copies::range_of(const at::Tensor& arg, ScalarType to, bool frozen) {
  const RangeKey key{arg.storage().unsafeGetStorageImpl(), arg.storage_offset(), arg.numel(), to};
  {
    std::lock_guard lock(lock_);
    if (const auto found = ranges_.find(key); found != ranges_.end()) return found->second;
  }
  auto made = std::allocate_shared<KeptCopy>(memory::Own<KeptCopy>(), arg, frozen);
  std::lock_guard lock(lock_);
  return ranges_.emplace(key, std::move(made)).first->second;
}

std::vector<std::shared_ptr<KeptCopy>> Copies::all() {
  std::vector<std::shared_ptr<KeptCopy>> all;
  std::lock_guard lock(lock_);
  all.reserve(ranges_.size());
  for (const auto& [key, range] : ranges_) all.push_back(range);
  return all;
}

// Layers come in a cycle: to evict what was used longest ago would evict just what comes next. A newcomer is refused
// while all others are in use.
bool Copies::has_room(std::uint64_t bytes) {
  if (!options_.max_bytes) return true;
  const std::uint64_t region = region_.load(std::memory_order_relaxed);
  std::uint64_t held = 0;
  for (const auto& range : all()) {
    const std::unique_lock lock(range->mutex, std::try_to_lock);
    if (!lock || !range->has_proof()) continue;
    if (range->is_dead() || range->used_in() + 1 < region)
      range->drop();
    else
      held += range->copy_bytes();
  }
  return held + bytes <= *options_.max_bytes;
}

void Copies::forget_the_dead() {
  made_bytes_.store(0, std::memory_order_relaxed);
  std::vector<std::shared_ptr<KeptCopy>> dead;  // let go of outside the lock
  std::lock_guard lock(lock_);
  for (auto at = ranges_.begin(); at != ranges_.end();) {
    if (!at->second->is_dead()) {
      ++at;
      continue;
    }
    dead.push_back(std::move(at->second));
    at = ranges_.erase(at);
  }
}

Held Copies::drop_unless(bool (KeptCopy::*stays)() const) {
  forget_the_dead();
  Held left;
  for (const auto& range : all()) {
    const std::unique_lock lock(range->mutex, std::try_to_lock);
    if (!lock) continue;  // another thread makes it anew
    if (stays == nullptr || !((*range).*stays)()) range->drop();
    if (!range->is_here()) continue;
    ++left.entries;
    left.bytes += range->copy_bytes();
  }
  return left;
}

Held Copies::end_region() {
  decltype(edges_) gone;
  {
    std::lock_guard lock(lock_);
    gone.swap(edges_);
  }
  region_.fetch_add(1, std::memory_order_relaxed);
  return drop_unless(options_.until == Keep::kRegion ? nullptr : &KeptCopy::may_outlive_region);
}

Held Copies::begin_step() {
  return drop_unless(options_.until == Keep::kStep ? nullptr : &KeptCopy::may_outlive_region);
}

void Copies::optimizer_stepped() { optimizer_steps_.fetch_add(1, std::memory_order_relaxed); }

}  // namespace castscope::enforce
