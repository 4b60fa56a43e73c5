// The parts of the JSON report that tell of places in the code (docs/report.schema.json): `regions`, `sites` and
// `pass_through_places`, by code.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "server/report/forms/shared_parts.h"
#include "server/report/model/model.h"

namespace castscope::report {

nlohmann::ordered_json regions_json(const Model&, SharedParts&);
nlohmann::ordered_json sites_json(const Model&, SharedParts&);
nlohmann::ordered_json pass_through_places_json(const Model&);

}  // namespace castscope::report
