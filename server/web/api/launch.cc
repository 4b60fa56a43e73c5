#include "server/web/api/launch.h"

#include "agent/lanes/event_views.h"

namespace castscope::web {
namespace {

// The driver's clock and the thread's clock agree to so many ns.
constexpr std::int64_t kClocksAgree = 1'000;

std::optional<timeline::FoundEvent> around(const timeline::Timeline& timeline, store::ProcessId process,
                                           timeline::TrackKind kind, std::uint32_t subject, std::int64_t at) {
  if (subject == 0) return std::nullopt;
  for (const timeline::Track& track : timeline.tracks()) {
    if (track.process != process || track.kind != kind) continue;
    const auto found = timeline.event_at(track.id, at, kClocksAgree);
    if (found && found->subject == subject) return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Launch> launch_of(const timeline::Timeline& timeline, const store::RunData& run,
                                const timeline::FoundEvent& kernel, const lanes::Event& kept) {
  const std::uint32_t waited = as_kernel(kept).waited;
  if (kept.kind != lanes::EventKind::kKernel || waited == 0) return std::nullopt;
  Launch launch{.at = kernel.begin - waited, .by = {}};
  const store::Kernel* const of = run.kernels.find(store::KernelId(kernel.subject));
  // A replay is launched as a whole, not by the casts or operators that were captured.
  if (of == nullptr || of->replayed()) return launch;
  launch.by = around(timeline, kernel.process, timeline::TrackKind::kCasts, of->site, launch.at);
  if (!launch.by) launch.by = around(timeline, kernel.process, timeline::TrackKind::kOperators, of->use, launch.at);
  return launch;
}

}  // namespace castscope::web
