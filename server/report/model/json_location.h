// docs/report.schema.json, `location`.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "server/store/run/run_data.h"

namespace castscope::report {

// All members are null where the place is not known.
inline nlohmann::ordered_json location_json(const std::optional<store::CodeLocation>& at) {
  if (!at || at->file.empty()) return {{"file", nullptr}, {"line", nullptr}, {"function", nullptr}};
  return {{"file", at->file}, {"line", at->line}, {"function", at->function}};
}

}  // namespace castscope::report
