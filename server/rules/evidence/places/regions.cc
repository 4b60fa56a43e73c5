#include "server/rules/evidence/places/regions.h"

namespace castscope::rules {

bool is_within(const store::RunData& data, std::uint32_t inner, std::uint32_t outer) {
  for (; inner != 0; inner = data.region(inner).parent)
    if (inner == outer) return true;
  return false;
}

const store::Region* region_of_device(const store::RunData& data, std::uint32_t region, std::uint8_t device) {
  for (std::uint32_t id = region; id != 0; id = data.region(id).parent)
    if (data.region(id).device == device) return &data.region(id);
  return nullptr;
}

const store::Region* enabled_region(const store::RunData& data, std::uint32_t region, std::uint8_t device) {
  const store::Region* innermost = region_of_device(data, region, device);
  return innermost != nullptr && innermost->enabled ? innermost : nullptr;
}

const store::Region* eager_region(const store::RunData& data, std::uint32_t region, std::uint8_t device) {
  for (std::uint32_t id = region; id != 0; id = data.region(id).parent) {
    const store::Region& at = data.region(id);
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
