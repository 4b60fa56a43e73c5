// The shade in which a site's casts are drawn.
#pragma once

#include <cstdint>
#include <vector>

#include "server/store/run/run_data.h"
#include "server/timeline/tracks/tracks.h"

namespace castscope::web {

// 0: none of its casts was told yet.
std::uint8_t shade_of(const store::Site&, const std::vector<timeline::Shade>& shades);

}  // namespace castscope::web
