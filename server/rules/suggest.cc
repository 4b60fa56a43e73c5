#include "server/rules/suggest.h"

#include <vector>

#include "server/config/nearest.h"
#include "server/rules/rules.h"

namespace castscope::rules {

std::optional<std::string> nearest_rule(std::string_view written) {
  std::vector<std::string_view> names;
  for (const Rule* rule : all_rules()) names.push_back(rule->name);
  return config::nearest(written, names);
}

}  // namespace castscope::rules
