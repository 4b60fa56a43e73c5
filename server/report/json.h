// The audit report: what a run did, as JSON (docs/report.schema.json). The same run gives the same text.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "server/store/run_data.h"

namespace castscope::report {

nlohmann::ordered_json to_json(const store::RunData&);  // findings are judged from the data
std::string json_text(const store::RunData&);           // indented, with a newline at the end

}  // namespace castscope::report
