// Names the words of an event by its kind. Every Event has 64 bytes, so some of its words have another meaning in each
// kind (EventKind in format.h); those meanings are named here and nowhere else.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "agent/lanes/format.h"

namespace castscope::lanes {

// The words as they lie in the event, for code that packs events and for the views below.
struct EventWords {
  static std::uint64_t& tensor(Event& e) { return e.tensor; }
  static std::uint64_t tensor(const Event& e) { return e.tensor; }
  static std::uint32_t& entries(Event& e) { return e.entries; }
  static std::uint32_t entries(const Event& e) { return e.entries; }
  static std::uint32_t (&dims(Event& e))[4] { return e.dims; }
  static const std::uint32_t (&dims(const Event& e))[4] { return e.dims; }
};

// A view of kCast, kHit and kPass. It refers to the event.
class CastEvent {
 public:
  explicit CastEvent(const Event& event) : event_(event) {}
  // The address of the source's TensorImpl, or with by_data() of its data. Only good for comparing.
  std::uint64_t source() const { return EventWords::tensor(event_); }
  // The source's version counter. For a weight whose copy is not kept, some of its values are mixed in: another number
  // then means that it is not the same weight.
  std::uint32_t version() const { return EventWords::entries(event_); }
  // Sizes of the source, outermost first, saturating. With more than 4 sizes, the first is the product of those that
  // have no place; ndim() tells how many there were.
  std::span<const std::uint32_t> shape() const {
    return std::span(EventWords::dims(event_)).first(std::min<std::size_t>(event_.ndim, 4));
  }
  // The same, with 0 for each that is not there: for who only compares.
  std::span<const std::uint32_t, 4> all_sizes() const { return std::span(EventWords::dims(event_)); }
  std::uint8_t ndim() const { return event_.ndim; }
  bool by_data() const { return (event_.flags & kFlagData) != 0; }

 private:
  const Event& event_;
};
inline CastEvent as_cast(const Event& event) { return CastEvent(event); }

// kKernel: a GPU did something.
struct KernelEvent {
  std::uint32_t device = 0, stream = 0, blocks = 0, threads = 0;  // blocks of the grid, threads of a block
  std::uint64_t bytes = 0;                                        // bytes moved
  std::uint64_t correlation = 0;                                  // CUPTI's
  std::uint32_t waited = 0;                                       // ticks since its launch, in the segment's clock
};
inline KernelEvent as_kernel(const Event& event) {
  const auto& dims = EventWords::dims(event);
  return {dims[0], dims[1], dims[2], dims[3], event.bytes, EventWords::tensor(event), EventWords::entries(event)};
}
inline void put(Event& event, const KernelEvent& kernel) {
  event.kind = EventKind::kKernel;
  event.bytes = kernel.bytes;
  event.ndim = 4;
  EventWords::tensor(event) = kernel.correlation;
  EventWords::entries(event) = kernel.waited;
  auto& dims = EventWords::dims(event);
  dims[0] = kernel.device, dims[1] = kernel.stream, dims[2] = kernel.blocks, dims[3] = kernel.threads;
}

// kValues: a sample of a tensor's values.
struct ValuesEvent {
  double most = 0;             // max |x| of the finite ones
  std::uint64_t elements = 0;  // elements of the tensor
  std::uint32_t sampled = 0;
  std::uint32_t not_finite = 0, zeros = 0;  // among the sampled values
  std::uint32_t integers = 0;               // … below 2^23: from there on float32 has only integers
  std::uint32_t beyond = 0;  // finite values beyond the largest finite number of the dtype cast to (casts only)
  bool differ = false;       // the finite nonzero values differ in size
  bool rounds = false;       // the half that is cast to does not hold some of the whole numbers
};
inline ValuesEvent as_values(const Event& event) {
  const auto& dims = EventWords::dims(event);
  return {.most = std::bit_cast<double>(EventWords::tensor(event)),
          .elements = event.bytes,
          .sampled = dims[0],
          .not_finite = dims[1],
          .zeros = dims[2],
          .integers = dims[3],
          .beyond = EventWords::entries(event),
          .differ = (event.flags & kFlagDiffer) != 0,
          .rounds = (event.flags & kFlagRounds) != 0};
}
inline void put(Event& event, const ValuesEvent& values) {
  event.kind = EventKind::kValues;
  event.bytes = values.elements;
  event.flags = static_cast<std::uint8_t>((values.differ ? kFlagDiffer : 0) | (values.rounds ? kFlagRounds : 0));
  EventWords::tensor(event) = std::bit_cast<std::uint64_t>(values.most);
  EventWords::entries(event) = values.beyond;
  auto& dims = EventWords::dims(event);
  dims[0] = values.sampled, dims[1] = values.not_finite, dims[2] = values.zeros, dims[3] = values.integers;
}

// kScaler: GradScaler's scale before and after, if it is in CPU memory; 0 = not known.
struct ScalerEvent {
  double before = 0, after = 0;
};
inline ScalerEvent as_scaler(const Event& event) {
  return {std::bit_cast<double>(EventWords::tensor(event)), std::bit_cast<double>(event.bytes)};
}
inline void put(Event& event, const ScalerEvent& scaler) {
  EventWords::tensor(event) = std::bit_cast<std::uint64_t>(scaler.before);
  event.bytes = std::bit_cast<std::uint64_t>(scaler.after);
}

// kMetric: the number that castscope.metric was given.
struct MetricEvent {
  double value = 0;
};
inline MetricEvent as_metric(const Event& event) { return {std::bit_cast<double>(event.bytes)}; }
inline void put(Event& event, const MetricEvent& metric) {
  event.kind = EventKind::kMetric;
  event.bytes = std::bit_cast<std::uint64_t>(metric.value);
}

// kCacheClear: the contents of the cache that was cleared.
struct ClearEvent {
  std::uint64_t bytes = 0;
  std::uint32_t entries = 0;
};
inline ClearEvent as_clear(const Event& event) { return {event.bytes, EventWords::entries(event)}; }
inline void put(Event& event, const ClearEvent& clear) {
  event.kind = EventKind::kCacheClear;
  event.bytes = clear.bytes;
  EventWords::entries(event) = clear.entries;
}

}  // namespace castscope::lanes
