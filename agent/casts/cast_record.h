// The cast hooks write an event for each cast and each hit with these functions.
#pragma once

#include "agent/casts/sites.h"
#include "agent/lanes/event_views.h"
#include "agent/session/call_stack.h"
#include "agent/torch/backward_node.h"
#include "agent/torch/tensor_facts.h"

namespace castscope::agent {

// `elsewhere`: the phase of a call that is not in backward.
inline lanes::Phase phase_of(lanes::Phase elsewhere) {
  return torch::autograd::get_current_graph_task_id() < 0 ? elsewhere : lanes::Phase::kBackward;
}

[[gnu::always_inline]] inline void describe(lanes::Event& e, const TensorImpl* source) {
  using Words = lanes::EventWords;
  auto& dims = Words::dims(e);
  Words::tensor(e) = reinterpret_cast<std::uint64_t>(source);
  e.ndim = 0;
  dims[0] = dims[1] = dims[2] = dims[3] = 0;
  Words::entries(e) = 0;
  if (!has_plain_sizes(source)) return;
  const c10::IntArrayRef sizes = source->sizes_default();
  const std::size_t n = sizes.size();
  e.ndim = static_cast<std::uint8_t>(n < 255 ? n : 255);
  const std::size_t folded = n > 4 ? n - 4 : 0;
  std::uint64_t first = 1;
  for (std::size_t i = 0; i <= folded && i < n; ++i) first *= static_cast<std::uint64_t>(sizes[i]);
  if (n > 0) dims[0] = lanes::LaneWriter::saturate(first);
  for (std::size_t i = folded + 1; i < n; ++i)
    dims[i - folded] = lanes::LaneWriter::saturate(static_cast<std::uint64_t>(sizes[i]));
  const c10::VariableVersion& version = source->version_counter();
  if (version.enabled()) Words::entries(e) = version.current_version();
}

// The address of the tensor's data: it stays the same when the tensor is made anew for each use.
[[gnu::noinline]] inline std::uint64_t data_of(const TensorImpl* t) {
  if (!has_plain_sizes(t) || !t->has_storage()) return reinterpret_cast<std::uint64_t>(t);
  const c10::StorageImpl* storage = t->unsafe_storage().unsafeGetStorageImpl();
  const void* data = const_cast<c10::StorageImpl*>(storage)->_mutable_data_ptr_no_checks().get();
  if (data == nullptr) return reinterpret_cast<std::uint64_t>(t);  // a wrapper, or on the meta device
  return reinterpret_cast<std::uint64_t>(data) + static_cast<std::uint64_t>(t->storage_offset()) * t->itemsize();
}

// Inlined into every hook: 2 ns of a hit are at stake.
[[gnu::always_inline]] inline void publish(ThreadState& t, Recording& r, lanes::EventKind kind,
                                           const TensorImpl* source, std::uint32_t site, std::uint64_t begin,
                                           std::uint64_t ticks, std::uint64_t bytes, std::uint8_t flags,
                                           std::uint32_t content = 0) {
  lanes::Event* e = t.lane.begin_event();
  if (e == nullptr) return;
  e->time = begin;
  e->bytes = bytes;
  e->duration = lanes::LaneWriter::saturate(ticks);
  e->site = site;
  e->step = r.steps.current();
  e->region = t.region_serial;
  e->kind = kind;
  e->flags = flags;
  e->reserved = 0;
  describe(*e, source);
  lanes::EventWords::entries(*e) ^= content;
  if (flags & lanes::kFlagData) lanes::EventWords::tensor(*e) = data_of(source);
  t.lane.publish();
}

// The flag of a site's first cast: set while no cast is counted yet.
inline std::uint8_t flag_of_first(const lanes::Counter& counter) {
  return counter.casts.load(std::memory_order_relaxed) == 0 ? lanes::kFlagFirst : std::uint8_t{0};
}

// Lets a cast in backward name the cast that gave `result`. Only a tensor with a history has a gradient.
inline void remember_maker(Recording& r, const at::Tensor& result, std::uint32_t site) {
  const TensorImpl* impl = result.unsafeGetTensorImpl();
  if (autograd_meta(impl) != nullptr) r.cast_nodes.remember(node_that_made(impl), site);
}

inline std::uint64_t bytes_of(const at::Tensor& tensor) {
  const TensorImpl* impl = tensor.unsafeGetTensorImpl();
  if (impl->key_set().has_any(kOddKeys) || !has_plain_sizes(impl)) [[unlikely]]
    return bytes_of_odd(impl);
  return static_cast<std::uint64_t>(impl->numel_default()) * impl->itemsize();
}

}  // namespace castscope::agent
