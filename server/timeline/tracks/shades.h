// The shades of a run, numbered as they first occur.
#pragma once

#include <cstdint>
#include <vector>

#include "server/store/run/run_data.h"
#include "server/timeline/tracks/tracks.h"

namespace castscope::timeline {

class Shades {
 public:
  // In a run with too many combinations, the later ones lose their dtype and cause: there is always room for shades
  // without them.
  std::uint8_t of(TrackKind, ShadeKind, std::uint8_t dtype = kNoDtype, lanes::Cause cause = lanes::Cause::kUnknown);
  const std::vector<Shade>& all() const { return all_; }
  const Shade& operator[](std::uint8_t id) const { return all_[id - std::size_t{1}]; }

 private:
  static constexpr std::size_t kMost = 255, kKinds = static_cast<std::size_t>(kLastShadeKind) + 1;
  std::vector<Shade> all_;
};

// Whether a cast goes down, up, or to the same width.
ShadeKind cast_kind(std::uint8_t from, std::uint8_t to);

}  // namespace castscope::timeline
