// What people set about rules in castscope.json. Reading the file is ../castscope_json.h's affair.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace castscope::policy {
struct Policy;
}

namespace castscope::rules {

struct Settings {
  std::string file;    // the castscope.json they stand in, as it was named; "" = the defaults
  std::string folder;  // of that, from the root
  // Rules by name or by prefix with a star ("cache-*"). Empty select = all.
  std::vector<std::string> select, ignore;
  std::map<std::string, std::string, std::less<>> severity;                                   // rule → severity
  std::map<std::string, std::map<std::string, double, std::less<>>, std::less<>> thresholds;  // rule → name → value
  struct PathIgnore {
    // Glob against the finding's file: from the project on, as it is shown; from the folder of castscope.json; from the
    // root. The folder that a job was started in is none of these, unless nothing else is known of the project.
    std::string path;
    std::vector<std::string> rules;  // as in ignore
  };
  std::vector<PathIgnore> per_path;
  // What runs are held against (policy-deviation); null: the policy that a run was started with, if any.
  std::shared_ptr<const policy::Policy> policy;

  // Rules that are not selected are not asked; what ignored ones say is counted, and not shown.
  bool selects(std::string_view rule) const;
  bool ignores(std::string_view rule) const;
  // Of this rule in this file. `project`: RunStart::project().
  bool ignores_in(std::string_view rule, const std::string& file, std::string_view project) const;
};

inline constexpr std::array<std::string_view, 4> kSeverities = {"error", "warning", "performance", "info"};
// 0 = the gravest; their number for what is none of them.
std::size_t place_of_severity(std::string_view);
inline bool is_severity(std::string_view word) { return place_of_severity(word) < kSeverities.size(); }

// Does "cache-*", or a full name, mean this rule?
bool names_rule(std::string_view pattern, std::string_view rule);

}  // namespace castscope::rules
