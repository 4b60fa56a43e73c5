// Finds the regions that lie around an operator or another region.
//
// Autocast has a state for each device: the region that counts for an operator is the innermost one of its own device,
// which may lie around one of another device.
#pragma once

#include <cstdint>

#include "server/store/run/run_data.h"

namespace castscope::rules {

// Returns whether `inner` is `outer`, or lies in it.
bool is_within(const store::RunData&, store::RegionId inner, store::RegionId outer);

// Returns the innermost region of this device, from `region` outwards; nullptr when there is none.
const store::Region* region_of_device(const store::RunData&, store::RegionId region, std::uint8_t device);
// Returns that region if it is enabled, else nullptr.
const store::Region* enabled_region(const store::RunData&, store::RegionId region, std::uint8_t device);

// Returns the innermost region that Python opened, rather than a script, if it is enabled: eager autocast casts by it,
// whatever regions a script has within it.
const store::Region* eager_region(const store::RunData&, store::RegionId region, std::uint8_t device);

// Return the regions that were open when this operator was called. (Use::region is the innermost one of any device.)
const store::Region* region_of_device(const store::RunData&, const store::OperatorUse&);
const store::Region* enabled_region(const store::RunData&, const store::OperatorUse&);
inline bool in_autocast(const store::RunData& data, const store::OperatorUse& use) {
  return enabled_region(data, use) != nullptr;
}

}  // namespace castscope::rules
