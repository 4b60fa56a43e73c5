// The `roles`, `model_input` and `layers` objects of docs/report.schema.json.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "server/report/forms/shared_parts.h"
#include "server/report/model/model.h"

namespace castscope::report {

nlohmann::ordered_json roles_json(const Model&);
nlohmann::ordered_json model_input_json(const Model&);  // null: no operator in a region took an input
// Modules that did the same, equally often, are one row.
nlohmann::ordered_json layers_json(const Model&, SharedParts&);

}  // namespace castscope::report
