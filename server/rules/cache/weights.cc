#include "server/rules/cache/weights.h"

#include <algorithm>

#include "server/rules/finding.h"
#include "server/rules/sites.h"
#include "server/store/names.h"

namespace castscope::rules {

std::string module_name(const store::RunData& data, const store::Site& site) {
  if (site.module == 0) return "";
  const store::Module& module = data.modules[site.module - 1];
  return module.path.empty() ? module.type : module.path;
}

std::string weight_name(const store::RunData& data, const store::Site& site) {
  const std::string module = module_name(data, site);
  std::string argument = argument_name(data, site);
  // "other" and "mat2" say nothing without a module.
  const bool telling = argument.find("weight") != std::string::npos || argument.find("bias") != std::string::npos;
  if (argument.empty() || (module.empty() && !telling)) argument = store::name(site.role);
  const bool one_of_several = site.module != 0 && data.modules[site.module - 1].root_number > 1;
  return (module.empty() ? argument : module + "." + argument) +
         (one_of_several ? " of " + data.modules[site.module - 1].model() : "");
}

const std::string& first_of(const std::set<std::string>& weights) {
  const auto is_weight = [](const std::string& name) { return name.find("weight") != std::string::npos; };
  const auto found = std::find_if(weights.begin(), weights.end(), is_weight);
  return found == weights.end() ? *weights.begin() : *found;
}

std::string subject_of(const std::set<std::string>& weights) {
  const std::string& first = first_of(weights);
  return weights.size() == 1 ? first + " is" : first + " and " + counted(weights.size() - 1, "other weight") + " are";
}

}  // namespace castscope::rules
