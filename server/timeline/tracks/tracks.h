// The parts of a timeline. A track is one row: intervals and instants that do not overlap, sorted in time. The look of
// an interval is its shade, a byte.
#pragma once

#include <cstdint>
#include <string_view>

#include "agent/lanes/format.h"
#include "server/store/run/ids.h"

namespace castscope::timeline {

// Every time is below 2^53, so that a viewer's numbers hold it.
inline constexpr std::int64_t kLatestTime = (std::int64_t{1} << 53) - 1;

// In the order in which a lane's tracks are shown.
enum class TrackKind : std::uint8_t { kSteps, kMarks, kRegions, kModules, kOperators, kCasts, kKernels };

struct Track {
  std::uint32_t id = 0;  // 1, 2, … in the order of creation
  store::ProcessId process = {};
  std::uint32_t lane = 0;  // 0 = the whole process; for kernels the lane that reports them
  TrackKind kind{};
  // For operators: how many operators the call is nested in. For modules: the level of the path. For kernels: how many
  // ran on their stream when it began, or are taken to have, since it was reported late. 0 otherwise.
  std::uint32_t depth = 0;
  std::uint32_t device = 0, stream = 0;  // for kernels: each stream has rows of its own
  bool operator==(const Track&) const = default;
};

enum class ShadeKind : std::uint8_t {
  kDown,
  kUp,
  kSame,  // the same width, or not between floating dtypes
  kHit,
  kPass,
  kOperator,
  kRegion,
  kRegionOff,
  kStep,
  kStepDeep,
  kClear,
  kOptimizer,
  kScaler,
  kBackward,
  kValues,
  kCastKernel,  // a kernel, copy or set that a cast launched
  kKernel,
  kGpuCopy,  // a copy or a set that no cast launched
  kModule,
};
inline constexpr ShadeKind kLastShadeKind = ShadeKind::kModule;

// Within a row, the columns of a picture are kept apart by band, so that in a column with much of one the others are
// still seen. Only casts have more than the first: casts up have the second; hits and pass-throughs, which take no
// time, have the third.
inline constexpr std::uint8_t kBands = 3, kTimelessBand = 2;
constexpr std::uint8_t band_of(ShadeKind kind) {
  if (kind == ShadeKind::kUp) return 1;
  return kind == ShadeKind::kHit || kind == ShadeKind::kPass ? kTimelessBand : 0;
}
constexpr std::uint8_t bands_of(TrackKind kind) { return kind == TrackKind::kCasts ? kBands : 1; }

// The stream number for kernels of all streams beyond those that have rows of their own.
inline constexpr std::uint32_t kOtherStreams = 0xffffffff;

inline constexpr std::uint8_t kNoDtype = 0xff;

struct Shade {
  std::uint8_t id = 0;  // 1, 2, …; 0 = nothing is there
  TrackKind track{};
  ShadeKind kind{};
  std::uint8_t dtype = kNoDtype;  // the dtype cast to, of the copy served, computed in, or of the region
  lanes::Cause cause{};           // for casts, their kernels, hits and pass-throughs; kUnknown otherwise
  bool operator==(const Shade&) const = default;
};

TrackKind track_of(ShadeKind);     // the kind of the tracks that events of this kind lie in
std::string_view name(TrackKind);  // "steps", "marks", "regions", "modules", "operators", "casts", "kernels"
std::string_view name(ShadeKind);  // "down", …, "region_off", …

}  // namespace castscope::timeline
