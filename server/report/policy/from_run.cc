#include "server/report/policy/from_run.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/policy/decide.h"
#include "server/policy/load.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

using absl::StrCat;
using policy::CastPolicy;

// The observations of one operator on one device.
struct Seen {
  std::uint64_t down = 0, up = 0;
};
using SeenOperators = std::map<policy::OperatorName, Seen>;

bool is_policys_device(const std::string& device) {
  return device != "any" &&
         std::find(policy::kDeviceNames.begin(), policy::kDeviceNames.end(), device) != policy::kDeviceNames.end();
}

std::map<std::string, SeenOperators> seen_by_device(const store::RunData& run) {
  std::map<std::string, SeenOperators> seen;
  for (const store::SiteUse& use : run.site_uses) {
    const store::Site& site = run.sites[use.site];
    if (site.cause != lanes::Cause::kAutocast || site.op.empty()) continue;
    const std::string device(store::device_name(site.device));
    if (!is_policys_device(device)) continue;
    Seen& of = seen[device][policy::operator_called(site.op)];  // one that passed through was seen, too
    if (site.pass_through() || !site.has_dtypes()) continue;
    const std::uint64_t casts = use.counts.casts + use.counts.hits;
    if (rules::is_low(site.to)) of.down += casts;
    if (site.to == rules::kFloat) of.up += casts;
  }
  return seen;
}

// Whether an operator of this cast policy could have done that.
bool explains(CastPolicy policy, const Seen& seen) {
  switch (policy) {
    case CastPolicy::kLowerPrecision:
      return seen.up == 0;
    case CastPolicy::kFp32:
    case CastPolicy::kPromote:
      return seen.down == 0;
    default:
      return seen.down == 0 && seen.up == 0;
  }
}

CastPolicy policy_of(CastPolicy usual, const Seen& seen) {
  if (explains(usual, seen)) return usual;
  return seen.down > 0 ? CastPolicy::kLowerPrecision : CastPolicy::kFp32;
}

// The dtypes of regions that named none, where they differ from PyTorch's own default.
std::set<std::string> default_dtypes(const store::RunData& run, const std::string& device) {
  std::set<std::string> dtypes;
  for (const store::Region& region : run.regions) {
    const bool unnamed = region.enabled && (region.flags & lanes::kRegionDefaultDtype) != 0;
    if (unnamed && rules::is_low(region.dtype) && store::device_name(region.device) == device)
      dtypes.emplace(store::dtype_name(region.dtype));
  }
  if (dtypes == std::set<std::string>{std::string(name(policy::default_of(device)))}) dtypes.clear();
  return dtypes;
}

// Writes a name as PyTorch's own policy does: "linear" where that means all overloads.
std::string written(const policy::Policy& usual, const policy::OperatorName& op) {
  const bool is_short = !usual.operators.contains(op) && usual.operators.contains({op.name, ""});
  const bool is_only = op.overload == "default" && !op.name.starts_with("aten::");
  if (is_short || is_only) return policy::shown({op.name, ""});
  return shown(op);
}

std::string list_of_devices(const std::map<std::string, SeenOperators>& seen) {
  std::string list;
  for (const auto& [device, operators] : seen) list.append(list.empty() ? "" : ", ").append(device);
  return list;
}

absl::StatusOr<std::string> chosen(const std::map<std::string, SeenOperators>& seen, const std::string& device) {
  if (seen.contains(device)) return device;
  if (!device.empty())
    return absl::NotFoundError(
        StrCat("no operator was called under autocast on ", device,
               seen.empty() ? "" : StrCat(" (on ", list_of_devices(seen), ", there were some)")));
  if (seen.empty()) return absl::NotFoundError("no operator was called under autocast, so the run shows no policy");
  if (seen.size() > 1)
    return absl::InvalidArgumentError(
        StrCat("autocast was used on ", list_of_devices(seen), ": a policy is for one device, name it with --device"));
  return seen.begin()->first;
}

}  // namespace

absl::StatusOr<std::string> policy_followed(const store::RunData& run, const std::string& device,
                                            const std::string& name) {
  const auto seen = seen_by_device(run);
  const auto on = chosen(seen, device);
  if (!on.ok()) return on.status();
  const auto usual = policy::load(StrCat("torch-", *on));
  if (!usual.ok()) return usual.status();
  std::map<CastPolicy, std::set<std::string>> lists;
  std::vector<std::string> both;
  for (const auto& [op, what] : seen.at(*on)) {
    const CastPolicy stock = policy::decide(*usual, op).policy;
    lists[policy_of(stock, what)].insert(written(*usual, op));
    if (what.down > 0 && what.up > 0) both.push_back(written(*usual, op));
  }
  nlohmann::ordered_json operators = nlohmann::ordered_json::object();
  for (const auto& [kind, names] : lists) operators[std::string(policy::name(kind))] = names;
  std::string text = StrCat("// What autocast was seen to do on ", *on, " in ", on_one_line(name), ": ",
                            seen.at(*on).size(), " operators. What is not stated is taken to be as in PyTorch.\n");
  for (const std::string& op : both)
    text += StrCat("// ", on_one_line(op),
                   " was cast both up and down, which no cast policy does: a kernel of its own decides.\n");
  nlohmann::ordered_json policy = {{"$schema", "policy.schema.json"}, {"extends", StrCat("torch-", *on)}};
  const std::set<std::string> defaults = default_dtypes(run, *on);
  if (defaults.size() == 1) policy["default_dtype"] = *defaults.begin();
  if (defaults.size() > 1)
    text += "// Regions that named no dtype ran in several dtypes, which default_dtype cannot state.\n";
  policy["operators"] = operators;
  return text + policy.dump(2) + "\n";
}

}  // namespace castscope::report
