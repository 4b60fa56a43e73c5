#include "server/timeline/tracks/shades.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "server/store/run/names.h"

namespace castscope::timeline {
namespace {

// The width of a floating dtype, from its name: 8 for float8_e5m2; 0 for any other dtype.
unsigned floating_bits(std::uint8_t dtype) {
  std::string_view name = store::dtype_name(dtype);
  if (name.starts_with("b")) name.remove_prefix(1);
  if (!name.starts_with("float")) return 0;
  unsigned bits = 0;
  for (const char c : name.substr(5)) {
    if (c < '0' || c > '9') break;
    bits = bits * 10 + static_cast<unsigned>(c - '0');
  }
  return bits;
}

}  // namespace

ShadeKind cast_kind(std::uint8_t from, std::uint8_t to) {
  const unsigned before = floating_bits(from), after = floating_bits(to);
  if (before == 0 || after == 0 || before == after) return ShadeKind::kSame;
  return after < before ? ShadeKind::kDown : ShadeKind::kUp;
}

std::uint8_t Shades::of(TrackKind track, ShadeKind kind, std::uint8_t dtype, lanes::Cause cause) {
  const auto same = [&](const Shade& shade) {
    return shade.track == track && shade.kind == kind && shade.dtype == dtype && shade.cause == cause;
  };
  const auto known = std::find_if(all_.begin(), all_.end(), same);
  if (known != all_.end()) return known->id;
  const bool plain = dtype == kNoDtype && cause == lanes::Cause::kUnknown;
  if (!plain && all_.size() + kKinds >= kMost) return of(track, kind);
  all_.push_back({static_cast<std::uint8_t>(all_.size() + 1), track, kind, dtype, cause});
  return all_.back().id;
}

TrackKind track_of(ShadeKind kind) {
  switch (kind) {
    case ShadeKind::kDown:
    case ShadeKind::kUp:
    case ShadeKind::kSame:
    case ShadeKind::kHit:
    case ShadeKind::kPass:
      return TrackKind::kCasts;
    case ShadeKind::kOperator:
      return TrackKind::kOperators;
    case ShadeKind::kRegion:
    case ShadeKind::kRegionOff:
      return TrackKind::kRegions;
    case ShadeKind::kStep:
    case ShadeKind::kStepDeep:
      return TrackKind::kSteps;
    case ShadeKind::kCastKernel:
    case ShadeKind::kKernel:
    case ShadeKind::kGpuCopy:
      return TrackKind::kKernels;
    case ShadeKind::kModule:
      return TrackKind::kModules;
    default:
      return TrackKind::kMarks;
  }
}

std::string_view name(TrackKind kind) {
  constexpr std::array<std::string_view, 7> kNames = {"steps",     "marks", "regions", "modules",
                                                      "operators", "casts", "kernels"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name(ShadeKind kind) {
  constexpr std::array<std::string_view, 19> kNames = {
      "down",       "up",          "same",      "cache_hit",   "pass_through",   "operator", "region",
      "region_off", "step",        "step_deep", "cache_clear", "optimizer_step", "scaler",   "backward",
      "values",     "cast_kernel", "kernel",    "gpu_copy",    "module"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace castscope::timeline
