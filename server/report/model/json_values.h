// Values that stand in many places of a JSON report: what is not known is null.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "server/store/run/names.h"
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

// docs/report.schema.json, `run.missing`. A process that was never introduced has no number in the run: null.
inline nlohmann::ordered_json missing_json(const store::RunData& run, const std::vector<store::Incomplete>& missing) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const store::Incomplete& one : missing) {
    nlohmann::ordered_json process;
    for (const store::Process& known : run.processes)
      if (!one.process.empty() && known.info.key == one.process) process = known.id;
    list.push_back({{"code", store::name(one.reason)}, {"process", process}, {"sentence", one.sentence}});
  }
  return list;
}

inline nlohmann::ordered_json savings_json(const std::optional<store::Savings>& savings) {
  if (!savings) return nullptr;
  return {{"ns_per_step", static_cast<std::int64_t>(std::llround(savings->ns_per_step))},
          {"share_of_step", std::round(savings->share_of_step * 1e4) / 1e4},
          {"held_bytes", savings->held_bytes}};
}

}  // namespace castscope::report
