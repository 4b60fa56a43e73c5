// Values that stand in many places of a JSON report: what is not known is null.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "server/rules/evidence/places/places.h"
#include "server/store/run/names.h"
#include "server/store/run/run_data.h"

namespace castscope::report {

inline nlohmann::ordered_json text_or_null(std::string_view text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

// docs/report.schema.json, `location`. All members are null where the place is not known. Paths go from the run's
// `root`.
inline nlohmann::ordered_json location_json(const store::RunData& run, const std::optional<store::CodeLocation>& at) {
  if (!at || at->file.empty()) return {{"file", nullptr}, {"line", nullptr}, {"function", nullptr}};
  return {
      {"file", rules::portable_path(at->file, run.start.project())}, {"line", at->line}, {"function", at->function}};
}

// A time by the clock of a process as ns since the run's start. Negative where another machine's clock is behind.
inline std::int64_t since_start(const store::RunData& run, store::ProcessId process, std::int64_t in_process_ns) {
  return run.processes[process].info.begin_realtime_ns - run.start.start_ns + in_process_ns;
}

// docs/report.schema.json, `run.missing`. A process that was never introduced has no number in the run: null.
inline nlohmann::ordered_json missing_json(const store::RunData& run, const std::vector<store::Incomplete>& missing) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const store::Incomplete& one : missing) {
    nlohmann::ordered_json process;
    for (const store::Process& known : run.processes)
      if (!one.process.empty() && known.info.key == one.process) process = known.id;
    list.push_back({{"incomplete_reason", store::name(one.reason)}, {"process", process}, {"sentence", one.sentence}});
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
