// Which regions lie around what.
//
// Autocast has a state for each device: the region that counts for an operator is the innermost one of its own device,
// which may lie around one of another.
#pragma once

#include <cstdint>

#include "server/store/run/run_data.h"

namespace castscope::rules {

// Whether `inner` is `outer`, or lies in it.
bool is_within(const store::RunData&, std::uint32_t inner, std::uint32_t outer);

// The innermost region of this device, from `region` outwards; nullptr when there is none.
const store::Region* region_of_device(const store::RunData&, std::uint32_t region, std::uint8_t device);
// That, when it is an enabled one; else nullptr.
const store::Region* enabled_region(const store::RunData&, std::uint32_t region, std::uint8_t device);

// The innermost one that Python opened, and no script, when it is enabled: eager autocast casts by it, whatever regions
// a script has within it.
const store::Region* eager_region(const store::RunData&, std::uint32_t region, std::uint8_t device);

// … that were open when this operator was called. (Use::region is the innermost of any device.)
const store::Region* region_of_device(const store::RunData&, const store::OperatorUse&);
const store::Region* enabled_region(const store::RunData&, const store::OperatorUse&);
inline bool in_autocast(const store::RunData& data, const store::OperatorUse& use) {
  return enabled_region(data, use) != nullptr;
}

}  // namespace castscope::rules
