// The parts of the JSON report that tell what happened when and where (docs/report.schema.json): `step_runs`,
// `behaviours` and `processes`, in the order of the processes.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "server/report/model/model.h"

namespace castscope::report {

nlohmann::ordered_json cache_json(const store::Gauges&);
nlohmann::ordered_json step_runs_json(const Model&);
nlohmann::ordered_json behaviours_json(const Model&);
nlohmann::ordered_json processes_json(const Model&);

}  // namespace castscope::report
