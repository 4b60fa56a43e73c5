#include "server/ingest/validation/plain_events.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "agent/lanes/event_views.h"
#include "server/ingest/validation/record.h"

namespace castscope::ingest {
namespace {

using lanes::EventKind;

static_assert(static_cast<int>(lanes::StepReason::kOptimizer) == v1::STEP_REASON_OPTIMIZER &&
              static_cast<int>(lanes::StepReason::kRegionEnd) == v1::STEP_REASON_REGION_END &&
              static_cast<int>(lanes::StepReason::kExplicit) == v1::STEP_REASON_EXPLICIT);

// PyTorch's tensors have at most 64.
constexpr int kMostSizes = 64;

// An event has room for four sizes: with more, the first is the product of those that have no place.
void put_shape(const google::protobuf::RepeatedField<std::uint32_t>& shape, lanes::Event& event) {
  auto& dims = lanes::EventWords::dims(event);
  const int n = shape.size(), beyond = std::max(n - 4, 0);
  std::uint64_t product = 1;
  for (int i = 0; i <= beyond && i < n; ++i)
    product = std::min<std::uint64_t>(product * shape[i], std::numeric_limits<std::uint32_t>::max());
  for (int i = beyond; i < n; ++i) dims[i - beyond] = i == beyond ? static_cast<std::uint32_t>(product) : shape[i];
  event.ndim = static_cast<std::uint8_t>(n);
}

absl::Status put_cast(const v1::Cast& cast, EventKind kind, lanes::Event& event) {
  if (cast.shape_size() > kMostSizes)
    return invalid(absl::StrCat("an event with a shape of ", cast.shape_size(), " sizes"));
  event.kind = kind;
  event.site = cast.site();
  event.duration = cast.duration_ns();
  event.bytes = cast.bytes();
  lanes::EventWords::tensor(event) = cast.source_address();
  lanes::EventWords::entries(event) = cast.source_version();
  put_shape(cast.shape(), event);
  event.flags = static_cast<std::uint8_t>((cast.was_kept() ? lanes::kFlagKept : 0) |
                                          (cast.first_of_site() ? lanes::kFlagFirst : 0));
  return absl::OkStatus();
}

absl::Status put_kind(const v1::Event& plain, lanes::Event& event) {
  switch (plain.what_case()) {
    case v1::Event::kCast:
      return put_cast(plain.cast(), EventKind::kCast, event);
    case v1::Event::kCacheHit:
      return put_cast(plain.cache_hit(), EventKind::kHit, event);
    case v1::Event::kRegionEnter:
      event.kind = EventKind::kRegionEnter;
      event.site = plain.region_enter();
      return absl::OkStatus();
    case v1::Event::kRegionExit:
      event.kind = EventKind::kRegionExit;
      event.site = plain.region_exit();
      return absl::OkStatus();
    case v1::Event::kCacheClear:
      put(event, lanes::ClearEvent{.bytes = plain.cache_clear().cleared_bytes(),
                                   .entries = plain.cache_clear().cleared_entries()});
      return absl::OkStatus();
    case v1::Event::kStepBegin:
      event.kind = EventKind::kStep;
      event.flags = static_cast<std::uint8_t>(plain.step_begin());
      return v1::StepReason_IsValid(plain.step_begin()) ? absl::OkStatus()
                                                        : invalid("a step that begins for an unknown reason");
    case v1::Event::kOptimizerStep:
      event.kind = EventKind::kOptimizer;
      return absl::OkStatus();
    case v1::Event::kThread:
      event.kind = EventKind::kThread;
      event.site = plain.thread();
      return absl::OkStatus();
    case v1::Event::WHAT_NOT_SET:
      break;
  }
  return invalid("a plain event of an unknown kind");
}

}  // namespace

absl::Status plain_events(const v1::Events& block, std::vector<lanes::Event>* events,
                          std::vector<wire::EventKey>* keys) {
  absl::flat_hash_set<std::pair<EventKind, std::uint32_t>> seen;
  events->reserve(events->size() + static_cast<std::size_t>(block.plain_events_size()));
  for (const v1::Event& plain : block.plain_events()) {
    lanes::Event& event = events->emplace_back(lanes::Event{});
    event.time = plain.time_in_process_ns();
    event.step = plain.step();
    event.region = plain.stay();
    if (absl::Status status = put_kind(plain, event); !status.ok()) return status;
    if (seen.emplace(event.kind, event.site).second) keys->push_back({.kind = event.kind, .site = event.site});
  }
  return absl::OkStatus();
}

}  // namespace castscope::ingest
