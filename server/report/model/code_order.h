// The order of what stands in the code: the same in each run of a job, whatever the times and the ids of that run. The
// forms that are compared from run to run have it; what people read begins with what costs most.
#pragma once

#include <span>
#include <vector>

#include "server/report/model/totals.h"
#include "server/store/run/run_data.h"

namespace castscope::report {

// By file, line, function, the rest of the stack and how it was opened; those alike by id.
std::vector<store::RegionId> regions_by_code(const store::RunData&);
// By file, line, function, module, operator, argument and the rest of what makes a site; those alike by id.
// Returns places in `sites`.
std::vector<std::size_t> sites_by_code(const store::RunData&, std::span<const SiteTotal> sites);
// The place of each region in this order.
store::Table<std::size_t, store::Region> region_places(const store::RunData&);

}  // namespace castscope::report
