// The order of what stands in the code: the same in each run of a job, whatever the times and the ids of that run. The
// forms that are compared from run to run have it; what people read begins with what costs most.
#pragma once

#include <string>
#include <vector>

#include "server/report/model/model.h"

namespace castscope::report {

// By file, line, function, the rest of the stack and how it was opened; those alike by id.
std::vector<store::RegionId> regions_by_code(const store::RunData&);
// By file, line, function, module, operator, argument and the rest of what makes a site; those alike by id.
std::vector<const SiteTotal*> sites_by_code(const Model&);
// The place of each region and site in these orders; 0 = not among them.
store::Table<std::size_t, store::Region> region_places(const store::RunData&);
store::Table<std::size_t, store::Site> site_places(const Model&);

}  // namespace castscope::report
