// The `settings` object of docs/report.schema.json: by what a run was judged.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "server/rules/inquiry/settings.h"

namespace castscope::report {

nlohmann::ordered_json settings_json(const rules::Settings&);

}  // namespace castscope::report
