#include "server/rules/inquiry/policy_in_force.h"

#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/policy/compiled.h"
#include "server/store/run/names.h"

namespace castscope::rules {

std::shared_ptr<const policy::Policy> policy_in_force(const store::RunData& data, const Settings& settings) {
  if (settings.policy != nullptr || data.start.policy.empty()) return settings.policy;
  auto policy = policy::restored(data.start.policy);
  return policy.ok() ? std::make_shared<const policy::Policy>(*std::move(policy)) : nullptr;
}

std::string unused_policy(const store::RunData& data, const Settings& settings) {
  const auto policy = policy_in_force(data, settings);
  if (policy == nullptr || policy->device == "any") return "";
  std::set<std::string> used;
  for (const store::Region& region : data.regions) used.emplace(store::device_name(region.device));
  if (used.empty() || used.contains(policy->device)) return "";
  return absl::StrCat("the policy ", policy->name, " is for ", policy->device, ", and autocast was used on ",
                      absl::StrJoin(used, " and "), " alone: it says nothing of this run");
}

}  // namespace castscope::rules
