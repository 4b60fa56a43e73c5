// The part of the JSON report that tells of the run as a whole (docs/report.schema.json, `run`).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "server/report/model/model.h"

namespace castscope::report {

nlohmann::ordered_json run_json(const Model&);

}  // namespace castscope::report
