#include "server/report/model/roles.h"

#include <algorithm>
#include <array>
#include <utility>

#include "server/report/text/words.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/weights.h"
#include "server/store/run/causes.h"

namespace castscope::report {
namespace {

using lanes::Role;
using lanes::WhyNotCached;

constexpr std::array kOrder = {Role::kWeight,   Role::kInput,  Role::kActivation,
                               Role::kGradient, Role::kBuffer, Role::kUnknown};

std::string plural(Role role) {
  switch (role) {
    case Role::kWeight:
      return "weights";
    case Role::kInput:
      return "inputs";
    case Role::kActivation:
      return "activations";
    case Role::kGradient:
      return "gradients";
    case Role::kBuffer:
      return "buffers";
    case Role::kUnknown:
      break;
  }
  return "others";
}

bool always_told(Role role) { return role != Role::kBuffer && role != Role::kUnknown; }
bool is_of_model(Role role) { return role == Role::kWeight || role == Role::kBuffer; }

}  // namespace

std::vector<RoleTotal> by_role(const store::RunData& data) {
  std::map<Role, RoleTotal> all;
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    if (!store::is_autocasts(site.cause) || !site.has_dtypes()) continue;
    RoleTotal& total = all[site.role];
    total.counts += use.counts;
    const WhyNotCached why = reason_not_kept(site);
    if (why != WhyNotCached::kNone && use.counts.casts > 0) total.not_kept[why] += use.counts.casts;
  }
  std::vector<RoleTotal> list;
  for (const Role role : kOrder) {
    RoleTotal& total = all[role];
    total.role = role;
    if (always_told(role) || total.counts.casts + total.counts.hits > 0) list.push_back(std::move(total));
  }
  return list;
}

// A policy may name another dtype for arguments that are cast down. PyTorch would keep the copy of a non-weight in
// neither dtype.
WhyNotCached reason_not_kept(const store::Site& site) {
  const bool lowered = site.why == WhyNotCached::kOtherDtype && rules::is_low(site.to);
  return lowered && !is_of_model(site.role) ? WhyNotCached::kNoRequiresGrad : site.why;
}

std::string why_not_kept(WhyNotCached why, Role role) {
  const bool of_weights =
      why == WhyNotCached::kNoRequiresGrad || why == WhyNotCached::kNotLeaf || why == WhyNotCached::kView;
  if (of_weights && !is_of_model(role)) return "not parameters";
  return role == Role::kBuffer && why == WhyNotCached::kNoRequiresGrad ? "buffers" : rules::why_not_kept(why);
}

std::string roles_line(const std::vector<RoleTotal>& roles) {
  std::string list;
  std::uint64_t any = 0;
  for (const RoleTotal& total : roles) {
    any += total.counts.casts + total.counts.hits;
    list += (list.empty() ? "" : ", ") + plural(total.role) + " " + grouped(total.counts.casts);
    if (total.counts.hits > 0) list += " (" + counted(total.counts.hits, "cache hit", "cache hits") + ")";
  }
  return any == 0 ? "" : list;
}

std::string not_kept_line(const std::vector<RoleTotal>& roles) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_reason;
  for (const RoleTotal& total : roles) {
    std::map<std::string, std::uint64_t> reasons;
    for (const auto& [why, casts] : total.not_kept) reasons[why_not_kept(why, total.role)] += casts;
    for (const auto& [reason, casts] : reasons) {
      auto at = std::ranges::find(by_reason, reason, &decltype(by_reason)::value_type::first);
      if (at == by_reason.end()) at = by_reason.insert(at, {reason, {}});
      at->second.push_back(plural(total.role) + " " + grouped(casts));
    }
  }
  std::string list;
  for (const auto& [reason, what] : by_reason) list += (list.empty() ? "" : "; ") + listed(what) + " (" + reason + ")";
  return list;
}

}  // namespace castscope::report
