// Finds the shade in which a site's casts are drawn.
#pragma once

#include <cstdint>
#include <vector>

#include "server/store/run/run_data.h"
#include "server/timeline/tracks/tracks.h"

namespace castscope::web {

// Returns 0 if the timeline has no cast of the site yet.
std::uint8_t shade_of(const store::Site&, const std::vector<timeline::Shade>& shades);

}  // namespace castscope::web
