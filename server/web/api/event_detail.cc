#include "server/web/api/event_detail.h"

#include <cstdlib>

#include "agent/lanes/event_views.h"
#include "server/report/timelines/timeline.h"
#include "server/store/read/event_blocks.h"

namespace castscope::web {
namespace {

using lanes::EventKind;
using timeline::ShadeKind;

std::optional<EventKind> kind_of(ShadeKind kind) {
  switch (kind) {
    case ShadeKind::kDown:
    case ShadeKind::kUp:
    case ShadeKind::kSame:
      return EventKind::kCast;
    case ShadeKind::kHit:
      return EventKind::kHit;
    case ShadeKind::kPass:
      return EventKind::kPass;
    case ShadeKind::kOperator:
      return EventKind::kOperator;
    case ShadeKind::kCastKernel:
    case ShadeKind::kKernel:
    case ShadeKind::kGpuCopy:
      return EventKind::kKernel;
    case ShadeKind::kClear:
      return EventKind::kCacheClear;
    case ShadeKind::kOptimizer:
      return EventKind::kOptimizer;
    case ShadeKind::kScaler:
      return EventKind::kScaler;
    case ShadeKind::kBackward:
      return EventKind::kBackward;
    case ShadeKind::kValues:
      return EventKind::kValues;
    default:
      return std::nullopt;
  }
}

// Kernels are in the file in the order in which the driver reported them, which may be seconds late.
constexpr std::int64_t kToldLate = 4'000'000'000;

bool is_it(const lanes::Event& event, EventKind kind, const timeline::FoundEvent& wanted) {
  if (event.kind != kind) return false;
  if (kind != EventKind::kKernel || wanted.stream == timeline::kOtherStreams) return true;
  const lanes::KernelEvent ran = as_kernel(event);
  return ran.device == wanted.device && ran.stream == wanted.stream;
}

}  // namespace

std::optional<lanes::Event> event_in_file(const std::string& run_file, const store::RunData& run,
                                          const timeline::FoundEvent& wanted) {
  const auto kind = kind_of(wanted.shade.kind);
  if (!kind || wanted.process == 0 || wanted.process > run.processes.size()) return std::nullopt;
  const std::int64_t begin = run.processes[wanted.process].info.begin_realtime_ns - run.start.start_ns;
  const std::int64_t at = wanted.begin - begin;
  // An event with a duration is stored at its end or at its begin.
  const std::int64_t around = *kind == EventKind::kKernel ? kToldLate : 0;
  const store::BlockRange range{
      .process = wanted.process, .lane = wanted.lane, .first_ns = at - around, .last_ns = wanted.end - begin + around};
  std::optional<lanes::Event> nearest;
  std::vector<lanes::Event> events;
  const auto distance = [at](const lanes::Event& event) {
    return std::abs(static_cast<std::int64_t>(event.time) - at);
  };
  (void)store::read_event_blocks_in(run_file, range, [&](const store::KeptBlock& block) {
    if (!report::unpack_block(run_file, run, block, &events).ok()) return absl::OkStatus();
    for (const lanes::Event& event : events) {
      if (is_it(event, *kind, wanted) && (!nearest || distance(event) < distance(*nearest))) nearest = event;
    }
    return absl::OkStatus();
  });
  // The timeline moves an event only to keep its lane in order, and not farther than this.
  constexpr std::int64_t kMoved = 1'000'000;
  return nearest && distance(*nearest) <= kMoved ? nearest : std::nullopt;
}

}  // namespace castscope::web
