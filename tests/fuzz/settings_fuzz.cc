// castscope.json (server/rules/castscope_json.h).
#include <string>

#include "server/rules/castscope_json.h"
#include "server/rules/rules.h"
#include "tests/fuzz/fuzzer.h"

namespace castscope::fuzz {

CASTSCOPE_FUZZER(settings, 4000, 4096) {
  const auto settings = rules::parse_settings(std::string(input), "castscope.json");
  if (!settings.ok()) {
    CASTSCOPE_PROMISE(sentence_of(settings.status()).starts_with("castscope.json:"), "a complaint names its place");
    return;
  }
  CASTSCOPE_PROMISE(settings->min_step_share >= 0 && settings->min_step_share <= 1, "a share is from 0 to 1");
  for (const auto& [rule, severity] : settings->severity)
    CASTSCOPE_PROMISE(rules::find_rule(rule) != nullptr && rules::is_severity(severity), "severities are known words");
  for (const auto& [rule, thresholds] : settings->thresholds)
    for (const auto& [name, number] : thresholds) CASTSCOPE_PROMISE(number >= 0, "a threshold is not negative");
  for (const rules::Rule* const rule : rules::all_rules()) {
    (void)settings->selects(rule->name);
    (void)settings->ignores(rule->name);
    (void)settings->ignores_in(rule->name, "/home/user/project/train.py", "/home/user/project");
  }
}

}  // namespace castscope::fuzz
