// What operators with weights computed in, place by place, as deep steps saw it: so that two runs of one model can be
// held against each other (a trainer and an inference engine).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "server/store/run/run_data.h"

namespace castscope::report {

// docs/report.schema.json, `precision`. Ordered by place.
nlohmann::ordered_json precision_json(const store::RunData&);

}  // namespace castscope::report
