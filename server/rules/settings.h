// What people set about rules in castscope.json. Reading the file is castscope_json.h's affair.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace castscope::rules {

struct Settings {
  // Rules by name or by prefix with a star ("cache-*"). Empty select = all.
  std::vector<std::string> select, ignore;
  std::map<std::string, std::string, std::less<>> severity;                                   // rule → severity
  std::map<std::string, std::map<std::string, double, std::less<>>, std::less<>> thresholds;  // rule → name → value
  struct PathIgnore {
    std::string path;                // glob against the file of the finding, relative to the run's folder or absolute
    std::vector<std::string> rules;  // as in ignore
  };
  std::vector<PathIgnore> per_path;

  bool selects(std::string_view rule) const;
};

// Does "cache-*", or a full name, mean this rule?
bool names_rule(std::string_view pattern, std::string_view rule);

}  // namespace castscope::rules
