// The audit report: what a run did, as JSON (docs/report.schema.json). The same run gives the same text.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "server/report/model/model.h"

namespace castscope::report {

nlohmann::ordered_json to_json(const Model&);
nlohmann::ordered_json findings_json(const Model&);   // the `findings` part of it
nlohmann::ordered_json by_cause_json(const Totals&);  // `totals.by_cause`
std::string json_text(const Model&);                  // indented, with a newline at the end
// The run is judged by the rules' defaults.
nlohmann::ordered_json to_json(const store::RunData&);
std::string json_text(const store::RunData&);

}  // namespace castscope::report
