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
#include "agent/torch/tensor_facts.h"
#include "agent/torch/tensor_memory.h"

namespace castscope::enforce {
namespace {

using c10::ScalarType;
using c10::TensorImpl;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  a = (a ^ b * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
  return a ^ a >> 32;
}

bool is_dense_memory(const TensorImpl* t) {
  return agent::has_plain_sizes(t) && t->is_non_overlapping_and_dense_default() && t->numel_default() > 0 &&
         agent::memory_of(t) != nullptr;
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

// Casts outside of inference mode, without grad, below autograd: the mode under which a copy is made must not show in
// it. Fills `old` again where it can: to get large new memory costs more than to fill it.
at::Tensor converted(const at::Tensor& arg, ScalarType to, at::Tensor old) {
  std::optional<c10::InferenceMode> normal;
  if (c10::InferenceMode::is_enabled()) normal.emplace(false);
  at::AutoDispatchBelowADInplaceOrView below;
  const at::Tensor row = row_of(arg);
  if (old.defined()) return old.copy_(row);
  return at::_ops::_to_copy::call(row, to, std::nullopt, std::nullopt, std::nullopt, false, std::nullopt);
}

// Counts a copy that went. A copy without proof belongs to the region: it lives on until the region ends.
void count_gone(const KeptCopy& copy, CacheContents& gone) {
  if (!copy.has_proof()) return;
  ++gone.entries;
  gone.bytes += copy.copy_bytes();
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
  at::Tensor copy = data(arg, to, *range_of(arg, to, !arg.requires_grad()), false, outcome);
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
  std::optional<Edge> edge;
  {
    std::lock_guard lock(lock_);
    const auto found = edges_.find({arg.unsafeGetTensorImpl(), to});
    if (found == edges_.end() || found->second.seen != now) return {};
    found->second.used_again = true;
    if (found->second.copy.defined()) [[likely]]
      return found->second.copy;
    edge = found->second;
  }
  at::Tensor copy = edge->present(agent::MayWait::before_original());
  if (!copy.defined()) edge->range->used_in_region(true);  // so that the next one stays
  return copy;
}

// Another thread may have been first: then its copy is the region's. Whatever became of the copy before, the weight
// keeps its place in the graph until the region ends, as in PyTorch. The place is given before any other thread can
// have the copy.
at::Tensor Copies::keep_edge(const at::Tensor& arg, ScalarType to, Edge edge) {
  const auto may_wait = agent::MayWait::no_lock_held();
  const at::Tensor copy = edge.present(may_wait);
  Edge before;  // dropped outside the lock
  for (bool looked = false;; looked = true) {
    {
      std::lock_guard lock(lock_);
      Edge& here = edges_[{arg.unsafeGetTensorImpl(), to}];
      if (here.is_new() || (looked && here.is(before))) {
        edge.used_again = here.used_again;
        std::swap(here, edge);
        return copy;
      }
      before = here;
    }
    if (before.seen == edge.seen)
      if (at::Tensor present = before.present(may_wait); present.defined()) return present;
    const Place place = before.place != nullptr ? before.place : place_of(before.copy);
    if (give_place(copy, place) && edge.place != nullptr) edge.place = place;
  }
}

void Copies::adopt(const at::Tensor& arg, ScalarType to, const at::Tensor& copy) {
  keep_edge(arg, to, {.copy = copy, .seen = glance(arg)});
}

at::Tensor Copies::leaf(const at::Tensor& arg, ScalarType to, Outcome& outcome) {
  if (at::Tensor copy = served(arg, to); copy.defined()) [[likely]]
    return copy;
  const TensorImpl* impl = arg.unsafeGetTensorImpl();
  if (!is_dense_memory(impl)) return {};
  const std::shared_ptr<KeptCopy> range = range_of(arg, to, false);
  const bool for_region = !range->is_used_once();
  Edge edge{.seen = glance(arg), .range = range};
  const at::Tensor copy = alias_of(data(arg, to, *range, for_region, outcome), impl);
  give_history(copy, arg);
  if (for_region)
    edge.copy = copy;
  else
    edge.weak = copy.getIntrusivePtr(), edge.place = place_of(copy);
  return keep_edge(arg, to, std::move(edge));
}

// The copy, in the shape of one of the tensors on that range. With `for_region`, it is kept until the region ends even
// if nothing proves it fresh: its edge answers for it, as PyTorch's cache would.
at::Tensor Copies::data(const at::Tensor& arg, ScalarType to, KeptCopy& range, bool for_region, Outcome& outcome) {
  const TensorImpl* impl = arg.unsafeGetTensorImpl();
  const bool requires_grad = arg.requires_grad();
  const std::uint64_t region = region_.load(std::memory_order_relaxed);
  const Glance now = glance_at(impl, optimizer_steps_.load(std::memory_order_relaxed));
  CacheContents gone;
  Proof proof;
  KeptCopy::Contents old;
  Proving how;
  {
    std::lock_guard lock(range.mutex);
    if (range.is_fresh(now, requires_grad, region)) return range.shaped();
    how = range.learn(now, requires_grad);
    count_gone(range, gone);
    old = range.take();
  }
  if (how != Proving::kNone && has_room(range.source_bytes() / 2, gone)) proof = range.prove(now, how);
  if (made_bytes_.fetch_add(range.source_bytes(), std::memory_order_relaxed) > kMostUnlooked) forget_the_dead(gone);
  const at::Tensor flat = converted(arg, to, std::move(old).memory());
  at::Tensor shaped = alias_of(flat, impl);
  outcome = {.converted = true, .kept = for_region || proof, .gone = gone};
  KeptCopy::Contents made;
  if (outcome.kept) made = {flat, shaped, std::move(proof)};
  std::lock_guard lock(range.mutex);
  range.put(made, now, impl->version_counter(), region);
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

// Layers come in a cycle: evicting the least recently used copy would evict exactly the one that comes next. A newcomer
// is refused while all others are in use.
bool Copies::has_room(std::uint64_t bytes, CacheContents& gone) {
  if (!options_.max_bytes) return true;
  const std::uint64_t region = region_.load(std::memory_order_relaxed);
  std::uint64_t held = 0;
  for (const auto& range : all()) {
    KeptCopy::Contents old;
    const std::unique_lock lock(range->mutex, std::try_to_lock);
    if (!lock || !range->has_proof()) continue;
    if (range->is_dead() || range->used_in() + 1 < region) {
      count_gone(*range, gone);
      old = range->take();
    } else {
      held += range->copy_bytes();
    }
  }
  return held + bytes <= *options_.max_bytes;
}

void Copies::forget_the_dead(CacheContents& gone) {
  made_bytes_.store(0, std::memory_order_relaxed);
  std::vector<std::shared_ptr<KeptCopy>> dead;  // dropped outside the lock
  std::lock_guard lock(lock_);
  for (auto at = ranges_.begin(); at != ranges_.end();) {
    const std::unique_lock still(at->second->mutex, std::try_to_lock);
    if (!still || !at->second->is_dead()) {
      ++at;
      continue;
    }
    count_gone(*at->second, gone);
    dead.push_back(std::move(at->second));
    at = ranges_.erase(at);
  }
}

CacheContents Copies::drop_unless(bool (KeptCopy::*stays)() const) {
  CacheContents gone;
  forget_the_dead(gone);
  CacheContents left;
  for (const auto& range : all()) {
    KeptCopy::Contents old;
    const std::unique_lock lock(range->mutex, std::try_to_lock);
    if (!lock) continue;  // another thread makes the copy anew
    if (stays == nullptr || !((*range).*stays)()) old = range->take();
    if (!range->is_here()) continue;
    ++left.entries;
    left.bytes += range->copy_bytes();
  }
  return left;
}

CacheContents Copies::end_region() {
  decltype(edges_) gone;
  {
    std::lock_guard lock(lock_);
    gone.swap(edges_);
  }
  for (const auto& [key, edge] : gone)
    if (edge.range != nullptr) edge.range->used_in_region(edge.used_again);
  region_.fetch_add(1, std::memory_order_relaxed);
  return drop_unless(options_.until == Keep::kRegion ? nullptr : &KeptCopy::has_proof);
}

CacheContents Copies::begin_step() {
  return drop_unless(options_.until == Keep::kStep ? nullptr : &KeptCopy::has_proof);
}

void Copies::optimizer_stepped() { optimizer_steps_.fetch_add(1, std::memory_order_relaxed); }

}  // namespace castscope::enforce
