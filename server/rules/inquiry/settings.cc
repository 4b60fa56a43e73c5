#include "server/rules/inquiry/settings.h"

#include <fnmatch.h>

#include <algorithm>

#include "server/rules/evidence/places/places.h"

namespace castscope::rules {
namespace {

bool any_names(const std::vector<std::string>& patterns, std::string_view rule) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return names_rule(pattern, rule); });
}

// Returns `file` relative to `folder`; "" when it is not in there.
std::string seen_from(std::string_view folder, const std::string& file) {
  while (folder.ends_with('/')) folder.remove_suffix(1);
  if (folder.empty() || !file.starts_with(folder) || file.size() <= folder.size() || file[folder.size()] != '/')
    return "";
  return file.substr(folder.size() + 1);
}

}  // namespace

bool names_rule(std::string_view pattern, std::string_view rule) {
  if (pattern.ends_with('*')) return rule.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == rule;
}

bool Settings::selects(std::string_view rule) const { return select.empty() || any_names(select, rule); }
bool Settings::ignores(std::string_view rule) const { return any_names(ignore, rule); }

bool Settings::ignores_in(std::string_view rule, const std::string& name, std::string_view project) const {
  const std::string file = plain_path(name);
  const std::string shown = portable_path(name, project), from_settings = seen_from(folder, file);
  return std::any_of(per_path.begin(), per_path.end(), [&](const PathIgnore& entry) {
    // A star matches across folders, as people expect of "tests/*".
    const auto fits = [&](const std::string& path) {
      return !path.empty() && fnmatch(entry.path.c_str(), path.c_str(), 0) == 0;
    };
    return (fits(file) || fits(shown) || fits(from_settings)) && any_names(entry.rules, rule);
  });
}

std::size_t place_of_severity(std::string_view word) {
  return static_cast<std::size_t>(std::find(kSeverities.begin(), kSeverities.end(), word) - kSeverities.begin());
}

}  // namespace castscope::rules
