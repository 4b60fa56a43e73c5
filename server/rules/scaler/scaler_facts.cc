#include "server/rules/scaler/scaler_facts.h"

#include <algorithm>

#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/enforced_policy.h"
#include "server/store/run/causes.h"

namespace castscope::rules {

std::uint64_t times_seen(const store::RunData& data, store::ProcessId process,
                         const std::function<bool(const store::Fact&)>& belongs) {
  std::uint64_t times = 0;
  for (const store::FactCount& count : data.fact_counts)
    if (count.process == process && belongs(data.facts[count.fact])) times += count.times;
  return times;
}

const store::Fact* first_seen(const store::RunData& data, store::ProcessId process,
                              const std::function<bool(const store::Fact&)>& belongs) {
  const store::Fact* first = nullptr;
  for (const store::FactCount& count : data.fact_counts) {
    const store::Fact& fact = data.facts[count.fact];
    const bool good = count.process == process && count.times > 0 && belongs(fact);
    if (good && (first == nullptr || fact.id < first->id)) first = &fact;
  }
  return first;
}

namespace {

std::set<std::uint8_t> low_dtypes_cast_to(const store::RunData& data, store::ProcessId process) {
  std::set<std::uint8_t> dtypes;
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    if (use.process == process && store::is_autocasts(site.cause) && site.has_dtypes() && is_low(site.to))
      dtypes.insert(site.to);
  }
  return dtypes;
}

}  // namespace

std::set<std::uint8_t> region_dtypes(const store::RunData& data, store::ProcessId process) {
  std::set<std::uint8_t> dtypes;
  if (!enforced_policy(data).empty()) dtypes = low_dtypes_cast_to(data, process);
  if (!dtypes.empty()) return dtypes;
  for (const store::RegionUse& use : data.region_uses)
    if (use.process == process && data.regions[use.region].enabled) dtypes.insert(data.regions[use.region].dtype);
  for (const store::SiteUse& use : data.site_uses) {  // autocast may be on without a region
    const store::Site& site = data.sites[use.site];
    const bool autocasts = use.process == process && store::is_autocasts(site.cause) && site.region != 0;
    if (autocasts && data.regions[site.region].enabled) dtypes.insert(data.regions[site.region].dtype);
  }
  return dtypes;
}

bool scales_gradients(const store::RunData& data, store::ProcessId process) {
  return std::any_of(data.scaler_uses.begin(), data.scaler_uses.end(), [&](const store::ScalerUse& use) {
    return use.process == process && (use.updates | use.unscales | use.scales) != 0;
  });
}

}  // namespace castscope::rules
