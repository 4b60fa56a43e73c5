#include "agent/operators/values.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <bit>
#include <limits>

#include "agent/lanes/event_views.h"
#include "agent/operators/value_sample.h"
#include "agent/session/process.h"
#include "agent/torch/tensor_facts.h"
#include "agent/torch/tensor_memory.h"

namespace castscope::operators {
namespace {

using c10::ScalarType;
using c10::TensorImpl;

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
  const void* data = agent::memory_of(t);
  if (data == nullptr) return {};
  switch (agent::dtype_of(t)) {
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

bool rounds_in(const ValueSample& s, std::optional<ScalarType> dtype) {
  return dtype == ScalarType::BFloat16 ? s.rounds_in_bfloat16 : dtype == ScalarType::Half && s.rounds_in_float16;
}

// Writes the event of a sample.
void tell(agent::ThreadState& t, const ValueSample& s, std::uint32_t number, std::uint8_t flags, bool rounds) {
  lanes::Event* e = t.lane.begin_event();
  if (e == nullptr) return;
  *e = lanes::Event{};
  e->time = t.lane.now();
  e->site = number;
  e->step = agent::g_process.recording.load(std::memory_order_relaxed)->steps.current();
  e->region = t.region_serial;
  put(*e, lanes::ValuesEvent{.most = s.most,
                             .elements = s.elements,
                             .sampled = s.sampled,
                             .not_finite = s.not_finite,
                             .zeros = s.zeros,
                             .integers = s.integers,
                             .beyond = s.beyond,
                             .differ = s.least < s.most,
                             .rounds = rounds});
  e->flags = static_cast<std::uint8_t>(e->flags | flags);
  t.lane.publish();
}

}  // namespace

bool is_down_cast(ScalarType from, ScalarType to) {
  return from != to && c10::elementSize(to) <= c10::elementSize(from) && c10::isFloatingType(from) &&
         c10::isFloatingType(to);
}

void note_values(agent::ThreadState& t, const TensorImpl* tensor, std::uint32_t number, std::optional<ScalarType> to) {
  if (number == 0) return;
  const ValueSample s = sample(tensor, largest(to));
  if (s.sampled == 0) return;
  tell(t, s, number, 0, rounds_in(s, to));
}

ValueSample sample_of_integers(const TensorImpl* t) {
  const void* data = agent::memory_of(t);
  if (data == nullptr) return {};
  constexpr double kNoLimit = std::numeric_limits<double>::max();
  switch (agent::dtype_of(t)) {
    case ScalarType::Long:
      return sample_as<std::int64_t>(t, data, kNoLimit);
    case ScalarType::Int:
      return sample_as<std::int32_t>(t, data, kNoLimit);
    case ScalarType::Short:
      return sample_as<std::int16_t>(t, data, kNoLimit);
    default:  // no number of the others is too large for a half
      return {};
  }
}

ValueSample sample_of_half(const TensorImpl* t) { return sample(t, std::numeric_limits<double>::max()); }

void note_integers(agent::ThreadState& t, const ValueSample& sample, std::uint32_t use, ScalarType half) {
  if (use != 0 && sample.sampled > 0) tell(t, sample, use, lanes::kFlagArgument, rounds_in(sample, half));
}

}  // namespace castscope::operators
