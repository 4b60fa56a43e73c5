#include "server/rules/settings.h"

#include <algorithm>

namespace castscope::rules {

bool names_rule(std::string_view pattern, std::string_view rule) {
  if (pattern.ends_with('*')) return rule.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == rule;
}

bool Settings::selects(std::string_view rule) const {
  const auto named = [&](const std::string& pattern) { return names_rule(pattern, rule); };
  if (std::any_of(ignore.begin(), ignore.end(), named)) return false;
  return select.empty() || std::any_of(select.begin(), select.end(), named);
}

}  // namespace castscope::rules
