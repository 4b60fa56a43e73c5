// The `run.recording` and `coverage` objects of docs/report.schema.json: what was asked for, and what was looked at.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "server/report/model/model.h"

namespace castscope::report {

nlohmann::ordered_json recording_json(const store::RunData&);
nlohmann::ordered_json coverage_json(const Model&);

}  // namespace castscope::report
