#include "server/rules/evidence/fsdp_casts.h"

#include <algorithm>

#include "server/rules/evidence/operators/dtypes.h"

namespace castscope::rules {

bool fsdp_and_autocast_differ(const store::RunData& data, store::ProcessId process) {
  return std::any_of(data.site_uses.begin(), data.site_uses.end(), [&](const store::SiteUse& use) {
    const store::Site& site = data.sites[use.site];
    if (use.process != process || site.cause != lanes::Cause::kFsdp || site.region == 0 || !is_low(site.to))
      return false;
    const store::Region& region = data.regions[site.region];
    return region.enabled && region.dtype != site.to;
  });
}

}  // namespace castscope::rules
