// Holds what people configure about rules in castscope.json; ../castscope_json.h reads the file.
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
  std::string file;    // the castscope.json that holds them, as it was named; "" = the defaults
  std::string folder;  // the absolute path of its folder
  // Rules by name or by prefix with a star ("cache-*"). Empty select = all.
  std::vector<std::string> select, ignore;
  std::map<std::string, std::string, std::less<>> severity;                                   // rule → severity
  std::map<std::string, std::map<std::string, double, std::less<>>, std::less<>> thresholds;  // rule → name → value
  struct PathIgnore {
    // A glob that is matched against the finding's file: relative to the project, as it is shown; relative to the
    // folder of castscope.json; and absolute. It is not matched relative to the folder in which the job was started,
    // unless nothing else is known of the project.
    std::string path;
    std::vector<std::string> rules;  // as in ignore
  };
  std::vector<PathIgnore> per_path;
  // What a finding of severity `performance` must save, as a share of a step; one that saves less is `info`.
  double min_step_share = 0.005;
  // The policy that runs are compared with (policy-deviation); null: the policy with which a run was started, if any.
  std::shared_ptr<const policy::Policy> policy;

  // Rules that are not selected are not run; findings of ignored ones are counted, and not shown.
  bool selects(std::string_view rule) const;
  bool ignores(std::string_view rule) const;
  // Returns whether this rule is ignored in this file. `project`: RunStart::project().
  bool ignores_in(std::string_view rule, const std::string& file, std::string_view project) const;
};

inline constexpr std::array<std::string_view, 4> kSeverities = {"error", "warning", "performance", "info"};
// Returns 0 for the gravest severity, and the number of severities for a word that is none.
std::size_t place_of_severity(std::string_view);
inline bool is_severity(std::string_view word) { return place_of_severity(word) < kSeverities.size(); }

// Returns whether "cache-*", or a full name, means this rule.
bool names_rule(std::string_view pattern, std::string_view rule);

}  // namespace castscope::rules
