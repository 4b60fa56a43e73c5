// Values that stand in many places of a JSON report: what is not known is null.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "server/store/run/run_data.h"

namespace castscope::report {

inline nlohmann::ordered_json text_or_null(std::string_view text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

// docs/report.schema.json, `location`. All members are null where the place is not known.
inline nlohmann::ordered_json location_json(const std::optional<store::CodeLocation>& at) {
  if (!at || at->file.empty()) return {{"file", nullptr}, {"line", nullptr}, {"function", nullptr}};
  return {{"file", at->file}, {"line", at->line}, {"function", at->function}};
}

inline nlohmann::ordered_json savings_json(const std::optional<store::Savings>& savings) {
  if (!savings) return nullptr;
  return {{"ns_per_step", static_cast<std::int64_t>(std::llround(savings->ns_per_step))},
          {"share_of_step", std::round(savings->share_of_step * 1e4) / 1e4},
          {"held_bytes", savings->held_bytes}};
}

}  // namespace castscope::report
