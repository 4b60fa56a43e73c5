#include "server/report/forms/settings_json.h"

#include <nlohmann/json.hpp>

#include "server/report/model/json_values.h"
#include "server/rules/rules.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;

// Lists the thresholds of all rules. A value that castscope.json gives takes the place of the rule's own.
Json thresholds_json(const rules::Settings& settings) {
  Json list = Json::array();
  for (const rules::Rule* const rule : rules::all_rules()) {
    const auto set = settings.thresholds.find(rule->name);
    for (const rules::Threshold& threshold : rule->thresholds) {
      double value = threshold.value;
      if (set != settings.thresholds.end()) {
        const auto own = set->second.find(threshold.name);
        if (own != set->second.end()) value = own->second;
      }
      list.push_back({{"rule", rule->name}, {"threshold", threshold.name}, {"threshold_value", value}});
    }
  }
  return list;
}

}  // namespace

Json settings_json(const rules::Settings& settings) {
  Json severities = Json::array(), in_paths = Json::array();
  for (const auto& [rule, severity] : settings.severity) severities.push_back({{"rule", rule}, {"severity", severity}});
  for (const rules::Settings::PathIgnore& one : settings.per_path)
    in_paths.push_back({{"path_pattern", one.path}, {"ignored_rules", one.rules}});
  return {{"settings_file", text_or_null(settings.file)},
          {"selected_rules", settings.select},
          {"ignored_rules", settings.ignore},
          {"ignored_in_paths", std::move(in_paths)},
          {"severities", std::move(severities)},
          {"min_step_share", settings.min_step_share},
          {"thresholds", thresholds_json(settings)}};
}

}  // namespace castscope::report
