#include "server/rules/evidence/weights.h"

#include <algorithm>

#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/places/sites.h"
#include "server/store/run/names.h"

namespace castscope::rules {

std::string module_name(const store::RunData& data, const store::Site& site) {
  if (site.module == 0) return "";
  const store::Module& module = data.modules[site.module];
  return module.path.empty() ? module.type : module.path;
}

std::string weight_name(const store::RunData& data, const store::Site& site) {
  const std::string module = module_name(data, site);
  std::string argument = argument_name(data, site);
  // "other" and "mat2" mean nothing without a module.
  const bool telling = argument.find("weight") != std::string::npos || argument.find("bias") != std::string::npos;
  if (argument.empty() || (module.empty() && !telling)) argument = store::name(site.role);
  const bool one_of_several = site.module != 0 && data.modules[site.module].root_number > 1;
  return (module.empty() ? argument : module + "." + argument) +
         (one_of_several ? " of " + data.modules[site.module].model() : "");
}

std::string why_not_kept(lanes::WhyNotCached why) {
  using lanes::WhyNotCached;
  switch (why) {
    case WhyNotCached::kInferenceMode:
      return "inference mode is on";
    case WhyNotCached::kCacheDisabled:
      return "the cache is switched off";
    case WhyNotCached::kOtherDtype:
      return "cast to another dtype than the region's";
    case WhyNotCached::kNotFp32:
      return "not in float32";
    case WhyNotCached::kNoRequiresGrad:
      return "frozen weight";
    case WhyNotCached::kNotLeaf:
      return "not a parameter itself";
    case WhyNotCached::kView:
      return "a view";
    case WhyNotCached::kCudaGraph:
      return "in the memory of a CUDA graph";
    case WhyNotCached::kNotAutocast:
      return "no cache serves it";
    case WhyNotCached::kScript:
      return "TorchScript casts at each use";
    case WhyNotCached::kNone:
      break;
  }
  return "";
}

const std::string& first_of(const std::set<std::string>& weights) {
  const auto is_weight = [](const std::string& name) { return name.find("weight") != std::string::npos; };
  const auto found = std::find_if(weights.begin(), weights.end(), is_weight);
  return found == weights.end() ? *weights.begin() : *found;
}

std::string subject_of(const std::set<std::string>& weights) { return subject_of(first_of(weights), weights.size()); }

std::string subject_of(const std::string& first, std::uint64_t number, std::string_view other) {
  if (number == 0) return first + " and others are";
  return number == 1 ? first + " is" : first + " and " + counted(number - 1, other) + " are";
}

}  // namespace castscope::rules
