// Adds what GPUs did: rows by stream, beside those of the thread that reports it.
#include <algorithm>

#include "agent/lanes/event_views.h"
#include "server/timeline/tracks/track_builder.h"

namespace castscope::timeline {
namespace {

// At most so many streams of a process have rows of their own: numbers in a damaged file must not make endless rows.
constexpr std::size_t kMostStreams = 256;
// A stream does one thing after another; but the branches of a graph share one number, and a kernel that is reported
// late finds its place taken. Up to so many kernels at once get a row each; further ones begin when the last one is
// over.
constexpr std::size_t kMostAtOnce = 4;

}  // namespace

// Kernels come as the driver hands them over, in the order in which their launcher became known.
void TrackBuilder::run_fed_kernels(Place& place) {
  std::stable_sort(kernels_.begin(), kernels_.end(),
                   [](const lanes::Event* a, const lanes::Event* b) { return a->time < b->time; });
  for (const lanes::Event* kernel : kernels_) run(place, *kernel);
}

// A kernel has a time of its own: it moves neither the lane nor the step of the process on.
void TrackBuilder::run(Place& place, const lanes::Event& event) {
  const Known known = kernel(place, event.site);
  const std::int64_t begin = since_run_began(place, event.time);
  const std::int64_t end = std::min(begin + event.duration, kLatestTime);
  Row& row = free_row(place, event, begin);
  row.add(known.shade, {begin, end, with_flags(std::min(event.bytes, kMostItemBytes), 0), known.id}, holdings_);
  begin_ = std::min(begin_, begin);
  newest_ = std::max(newest_, row.last);
}

Row& TrackBuilder::free_row(Place& place, const lanes::Event& event, std::int64_t begin) {
  auto& streams = place.process.streams;
  const lanes::KernelEvent ran = as_kernel(event);
  std::pair stream(ran.device, ran.stream);
  if (streams.size() >= kMostStreams && !streams.contains(stream)) stream = {kOtherStreams, kOtherStreams};
  std::vector<Row*>& rows = streams[stream];
  for (Row* row : rows)
    if (row->last <= begin) return *row;
  if (rows.size() == kMostAtOnce) return *rows.back();
  const auto depth = static_cast<std::uint32_t>(rows.size());
  Row& made = row(rows.emplace_back(), place.process_id, place.lane_id, TrackKind::kKernels, depth);
  made.track.device = stream.first;
  made.track.stream = stream.second;
  return made;
}

TrackBuilder::Known TrackBuilder::kernel(Place& place, std::uint32_t local) {
  const auto cached = place.process.kernels.find(local);
  if (cached != place.process.kernels.end()) return cached->second;
  const KernelLook look = place.numbers.kernel(place.process_id, local);
  const bool moves = look.work == lanes::GpuWork::kCopy || look.work == lanes::GpuWork::kSet;
  const ShadeKind kind = look.cast ? ShadeKind::kCastKernel : moves ? ShadeKind::kGpuCopy : ShadeKind::kKernel;
  const Known known{look.id, shades_.of(TrackKind::kKernels, kind, look.dtype, look.cause)};
  if (look.id != 0) place.process.kernels.emplace(local, known);
  return known;
}

}  // namespace castscope::timeline
