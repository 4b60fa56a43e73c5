// Groups autocast's casts by the role of the source (weights, inputs, activations, gradients), with the reasons why
// copies were not kept.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::report {

struct RoleTotal {
  lanes::Role role{};
  store::Counts counts;
  std::map<lanes::WhyNotCached, std::uint64_t> not_kept;  // casts whose copy could not be kept, by reason
};

// Weights, inputs, activations and gradients are always listed; buffers and unknown roles only where there are any.
// Together they make the totals, less the casts that belong to no site.
std::vector<RoleTotal> by_role(const store::RunData&);

// "weights 12 (24 cache hits), inputs 3, activations 9, gradients 0"; "" where autocast cast nothing.
std::string roles_line(const std::vector<RoleTotal>&);
// "inputs 3 and activations 9 (not parameters); weights 6 (frozen weight)"; "" where all are kept.
std::string not_kept_line(const std::vector<RoleTotal>&);
// Says why a copy of such a source is not kept: "frozen weight".
std::string why_not_kept(lanes::WhyNotCached, lanes::Role);
// The reason that reports give for this site. It is SiteInfo::why, except for inputs that are cast to a policy's dtype.
lanes::WhyNotCached reason_not_kept(const store::Site&);

}  // namespace castscope::report
