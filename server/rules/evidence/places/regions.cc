#include "server/rules/evidence/places/regions.h"

namespace castscope::rules {

bool is_within(const store::RunData& data, store::RegionId inner, store::RegionId outer) {
  for (; inner != 0; inner = data.regions[inner].parent)
    if (inner == outer) return true;
  return false;
}

const store::Region* region_of_device(const store::RunData& data, store::RegionId region, std::uint8_t device) {
  for (store::RegionId id = region; id != 0; id = data.regions[id].parent)
    if (data.regions[id].device == device) return &data.regions[id];
  return nullptr;
}

const store::Region* enabled_region(const store::RunData& data, store::RegionId region, std::uint8_t device) {
  const store::Region* innermost = region_of_device(data, region, device);
  return innermost != nullptr && innermost->enabled ? innermost : nullptr;
}

const store::Region* eager_region(const store::RunData& data, store::RegionId region, std::uint8_t device) {
  for (store::RegionId id = region; id != 0; id = data.regions[id].parent) {
    const store::Region& at = data.regions[id];
    if (at.device == device && at.kind != lanes::RegionKind::kScript) return at.enabled ? &at : nullptr;
  }
  return nullptr;
}

const store::Region* region_of_device(const store::RunData& data, const store::OperatorUse& use) {
  return region_of_device(data, use.region, use.device);
}

const store::Region* enabled_region(const store::RunData& data, const store::OperatorUse& use) {
  return enabled_region(data, use.region, use.device);
}

}  // namespace castscope::rules
