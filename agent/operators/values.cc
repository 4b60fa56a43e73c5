#include "agent/operators/values.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <bit>
#include <limits>

#include "agent/observe/process.h"
#include "agent/observe/tensor_facts.h"
#include "agent/operators/value_sample.h"

namespace castscope::operators {
namespace {

using c10::ScalarType;
using c10::TensorImpl;

// Where its elements lie, nullptr when that is no plain memory of this process with all of them in it (a storage may
// have been freed under a tensor that keeps its sizes, as FSDP does).
const void* memory_of(const TensorImpl* t) {
  const c10::DispatchKeySet keys = t->key_set();
  if (!t->is_cpu() || keys.has_any(observe::kOddKeys) || !keys.has(c10::DispatchKey::CPU)) return nullptr;
  if (t->layout() != c10::kStrided || !observe::has_plain_sizes(t) || !t->has_storage()) return nullptr;
  const c10::IntArrayRef sizes = t->sizes_default(), strides = t->strides_default();
  std::uint64_t last = static_cast<std::uint64_t>(t->storage_offset());
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0 || strides[d] < 0) return nullptr;
    last += static_cast<std::uint64_t>(sizes[d] - 1) * static_cast<std::uint64_t>(strides[d]);
  }
  const c10::StorageImpl* storage = t->unsafe_storage().unsafeGetStorageImpl();
  const auto bytes = static_cast<std::uint64_t>(storage->sym_nbytes().maybe_as_int().value_or(0));
  if ((last + 1) * t->itemsize() > bytes) return nullptr;
  // Without asking for a copy of what is shared until it is written to.
  const auto* data =
      static_cast<const char*>(const_cast<c10::StorageImpl*>(storage)->_mutable_data_ptr_no_checks().get());
  return data == nullptr ? nullptr : data + static_cast<std::uint64_t>(t->storage_offset()) * t->itemsize();
}

double largest(std::optional<ScalarType> dtype) {
  if (dtype == ScalarType::Half) return std::numeric_limits<c10::Half>::max();
  if (dtype == ScalarType::BFloat16) return std::numeric_limits<c10::BFloat16>::max();
  if (dtype == ScalarType::Float) return std::numeric_limits<float>::max();
  return std::numeric_limits<double>::max();
}

template <typename T>
ValueSample sample_as(const TensorImpl* t, const void* data, double limit) {
  const auto* values = static_cast<const T*>(data);
  return sample_values([values](std::int64_t at) { return static_cast<double>(values[at]); }, t->sizes_default().data(),
                       t->strides_default().data(), t->sizes_default().size(), limit);
}

ValueSample sample(const TensorImpl* t, double limit) {
  const void* data = memory_of(t);
  if (data == nullptr) return {};
  switch (observe::dtype_of(t)) {
    case ScalarType::Double:
      return sample_as<double>(t, data, limit);
    case ScalarType::Float:
      return sample_as<float>(t, data, limit);
    case ScalarType::Half:
      return sample_as<c10::Half>(t, data, limit);
    case ScalarType::BFloat16:
      return sample_as<c10::BFloat16>(t, data, limit);
    default:
      return {};
  }
}

}  // namespace

bool is_down_cast(ScalarType from, ScalarType to) {
  return from != to && c10::elementSize(to) <= c10::elementSize(from) && c10::isFloatingType(from) &&
         c10::isFloatingType(to);
}

void note_values(observe::ThreadState& t, const TensorImpl* tensor, std::uint32_t number,
                 std::optional<ScalarType> to) {
  if (number == 0) return;
  const ValueSample s = sample(tensor, largest(to));
  if (s.sampled == 0) return;
  lanes::Event* e = t.lane.begin_event();
  if (e == nullptr) return;
  *e = lanes::Event{};
  e->time = t.lane.now();
  e->tensor = std::bit_cast<std::uint64_t>(s.most);
  e->bytes = s.elements;
  e->site = number;
  e->step = observe::g_process.recording.load(std::memory_order_relaxed)->steps.current();
  e->region = t.region_serial;
  e->dims[0] = s.sampled;
  e->dims[1] = s.not_finite;
  e->dims[2] = s.zeros;
  e->dims[3] = s.integers;
  e->entries = s.beyond;
  e->kind = lanes::EventKind::kValues;
  t.lane.publish();
}

}  // namespace castscope::operators
