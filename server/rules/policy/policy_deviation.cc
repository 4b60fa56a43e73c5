// policy-deviation: autocast did something else than the policy says with which the run is compared (`--policy`).
// PyTorch's own autocast ran the operators; the policy was not enforced.
//
// Casts show a deviation in every step: one that the policy does not make, or makes to another dtype. Operators that
// are not cast although the policy casts them show in deep steps alone, where the dtype is known in which they
// computed.
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_join.h"
#include "server/policy/decide.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/enforced_policy.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/evidence/places/sites.h"
#include "server/rules/evidence/region_work.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::policy_deviation {
namespace {

using policy::CastPolicy;
using policy::Decision;
using policy::Policy;

std::string text(std::string_view word) { return std::string(word); }

struct Group {
  store::StackId stack = {};
  std::string op;
  Decision decision;
  std::string did;  // "casts to bfloat16"
  std::set<std::string> arguments;
  std::uint64_t times = 0;
  bool deep_only = false;
};

class Audit {
 public:
  Audit(const store::RunData& data, const Policy& policy) : data_(data), policy_(policy) {}

  void compare_run() {
    for (const store::SiteUse& use : data_.site_uses) compare_cast(data_.sites[use.site], use.counts);
    for (const store::UseCount& count : data_.use_counts) compare_use(data_.operator_uses[count.use], count.times);
  }
  const auto& groups() const { return groups_; }

 private:
  bool is_meant(std::uint8_t device) const {
    return policy_.device == "any" || policy_.device == store::device_name(device);
  }

  // The decision is remembered, since the same operator in the same module is asked for again and again.
  const Decision& decided(const std::string& op, store::ModuleId module) {
    const auto [found, fresh] = decisions_.try_emplace({op, module});
    if (!fresh) return found->second;
    std::vector<policy::ModuleUse> modules;
    if (module != 0) {
      const store::Module& in = data_.modules[module];
      modules = policy::modules_of(in.path, in.type);
      modules.back().classes.push_back("torch.nn." + in.type);  // a recording has the classes without their package
    }
    return found->second = policy::decide(policy_, policy::operator_called(op), modules);
  }

  // An operator that casts though it is on none of PyTorch's lists has a kernel of its own for autocast (cuDNN's RNNs,
  // torchvision's nms and roi_align). A policy that does not speak of it leaves that kernel alone.
  static bool has_own_kernel(const std::string& op, const Decision& decision) {
    return !decision.ruled && decision.never_cast.empty() && !policy::known_to_autocast(policy::operator_called(op));
  }

  // Returns the dtype to which an argument of this operator is cast; kNoDtype = it stays.
  std::uint8_t wanted(const Decision& decision, const std::string& argument, std::uint8_t ambient) const {
    for (const std::string& never : decision.never_cast) {
      if (never == argument) return kNoDtype;
    }
    switch (decision.policy) {
      case CastPolicy::kLowerPrecision:
        return decision.dtype == policy::Dtype::kAmbient    ? ambient
               : decision.dtype == policy::Dtype::kBFloat16 ? kBrain
                                                            : kHalf;
      case CastPolicy::kFp32:
      case CastPolicy::kPromote:
        return kFloat;
      default:
        return kNoDtype;
    }
  }

  void compare_cast(const store::Site& site, const store::Counts& counts) {
    const std::uint64_t times = counts.casts + counts.hits;
    if (site.cause != lanes::Cause::kAutocast || site.op.empty() || !is_meant(site.device)) return;
    const Decision& decision = decided(site.op, site.module);
    if (!site.has_dtypes()) {
      if (decision.policy == CastPolicy::kBanned && counts.passes > 0)
        add_deviation(site.stack, site.op, decision, "is called", "", counts.passes, false);
      return;
    }
    if (times == 0 || has_own_kernel(site.op, decision)) return;
    cast_at_.emplace(line_of(data_, site.stack), site.op);
    const store::Region* const region = region_of_device(data_, site.region, site.device);
    const std::uint8_t ambient = region == nullptr ? site.to : region->dtype;
    if (wanted(decision, argument_name(data_, site), ambient) == site.to) return;
    add_deviation(site.stack, site.op, decision, "casts to " + text(store::dtype_name(site.to)),
                  argument_text(data_, site), times, false);
  }

  // Looks for operators that autocast left alone and the policy runs in float32. Neither autocast nor a policy casts
  // for an operator that writes to an argument (in place, out=), and in a region of a script TorchScript's lists
  // decide.
  void compare_use(const store::OperatorUse& use, std::uint64_t times) {
    if (times == 0 || !is_forward(use) || !is_meant(use.device) || !is_low(use.computed)) return;
    if (use.is(lanes::kUseConverts | lanes::kUseWrites)) return;
    const store::Region* const region = enabled_region(data_, use);
    if (region == nullptr || region->kind == lanes::RegionKind::kScript) return;
    const Decision& decision = decided(use.op, use.module);
    const bool held = decision.policy == CastPolicy::kFp32 || decision.policy == CastPolicy::kFp32SetOptDtype ||
                      decision.policy == CastPolicy::kFp32AppendDtype;
    if (!held || !decision.never_cast.empty()) return;
    if (cast_at_.contains({line_of(data_, use.stack), use.op})) return;  // its casts were judged already
    add_deviation(use.stack, use.op, decision, "computes in " + text(store::dtype_name(use.computed)), "", times, true);
  }

  void add_deviation(store::StackId stack, const std::string& op, const Decision& decision, const std::string& did,
                     const std::string& argument, std::uint64_t times, bool deep_only) {
    Group& group = groups_[{line_of(data_, stack), op, did}];
    if (group.stack == 0) group.stack = stack, group.op = op, group.decision = decision, group.did = did;
    if (!argument.empty()) group.arguments.insert(argument);
    group.times += times;
    group.deep_only = deep_only;
  }

  const store::RunData& data_;
  const Policy& policy_;
  std::map<std::pair<std::string, store::ModuleId>, Decision> decisions_;
  std::set<std::pair<Line, std::string>> cast_at_;
  std::map<std::tuple<Line, std::string, std::string>, Group> groups_;
};

std::string says(const Decision& decision) {
  std::string said = text(name(decision.policy));
  if (decision.policy == CastPolicy::kLowerPrecision && decision.dtype != policy::Dtype::kAmbient)
    said += " (" + text(name(decision.dtype)) + ")";
  if (!decision.never_cast.empty()) said += ", never cast: " + absl::StrJoin(decision.never_cast, ", ");
  return said;
}

void add_finding(Inquiry& inquiry, const Policy& policy, const Group& group) {
  Finding& finding = inquiry.add(group.stack);
  const std::string arguments = absl::StrJoin(group.arguments, ", ");
  finding.title = short_name(group.op) + " " + group.did + (arguments.empty() ? "" : " its " + arguments) + "; " +
                  policy.name + " says " + says(group.decision);
  finding.deep_only = group.deep_only;
  finding.evidence_number = {{"times", group.times}};
  finding.evidence_text = {{"operator", group.op}, {"policy", policy.name}, {"policy_says", says(group.decision)}};
  if (!group.decision.because.empty()) {
    const policy::Reason& reason = group.decision.because.front();
    finding.evidence_text.emplace_back("policy_rule", reason.rule);
    if (!reason.place.empty()) finding.evidence_text.emplace_back("written_at", reason.place);
  }
  if (!group.decision.message.empty()) finding.evidence_text.emplace_back("message", group.decision.message);
  finding.fix =
      "If the policy is right, open a nested region here (torch.autocast(…, enabled=False)) and give the operator the "
      "dtypes that the policy says; if the job is right, change the policy.";
}

// A region that names no dtype has PyTorch's default, while the policy has another. A default that the job set itself
// is its own choice; where the policy was enforced, PyTorch's default counts as a choice, too.
void judge_default(Inquiry& inquiry, const Policy& policy) {
  const store::RunData& data = inquiry.data;
  if (!policy.default_dtype || !enforced_policy(data).empty()) return;
  const std::string wanted = text(name(*policy.default_dtype));
  const auto wrong_device = regions_of_wrong_device(data);
  std::set<Line> told;
  for (const store::Region& region : data.regions) {
    const std::string device(store::device_name(region.device)), got(store::dtype_name(region.dtype));
    if (!region.enabled || (region.flags & lanes::kRegionDefaultDtype) == 0 || wrong_device[region.id]) continue;
    if ((policy.device != "any" && policy.device != device) || got == wanted) continue;
    if (got != name(policy::default_of(device)) || !told.insert(line_of(data, region.stack)).second) continue;
    Finding& finding = inquiry.add(region.stack);
    finding.title = "this region names no dtype, and has PyTorch's default on " + device + ", " + got + "; " +
                    policy.name + " says " + wanted;
    finding.evidence_text = {
        {"policy", policy.name}, {"policy_says", "default_dtype " + wanted}, {"region_dtype", got}};
    finding.fix = "Name it: torch.autocast(\"" + device + "\", dtype=torch." + wanted +
                  "); or have the policy carried out (castscope run --enforce).";
  }
}

void judge_deviations(Inquiry& inquiry) {
  const auto policy = inquiry.policy();
  if (policy == nullptr) return;
  judge_default(inquiry, *policy);
  Audit audit(inquiry.data, *policy);
  audit.compare_run();
  for (const auto& [key, group] : audit.groups()) add_finding(inquiry, *policy, group);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "policy-deviation",
    .severity = "warning",
    .harm = Harm::kPrecision,
    .summary = "autocast deviates from the policy that the run is checked against",
    .thresholds = {},
    .sees = kSomeOperators,
    .explanation =
        {.what = "The run was checked against a policy (`castscope run --policy P`, or `castscope check --policy P`), "
                 "and autocast cast an argument that the policy leaves alone, or to another dtype, or "
                 "left an operator in low precision that the policy has in float32.",
         .why = "A policy says which precision a team has agreed on. PyTorch's own lists differ between devices and "
                "versions, and change what is computed without a word.",
         .example = R"(# with --policy fp32-everything
import torch

layer = torch.nn.Linear(8, 8)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = layer(torch.randn(4, 8)))",
         .fix = "Give the operator the dtypes that the policy says, in a nested region with autocast switched off; or "
                "change the policy: `castscope policy explain P OPERATOR` tells which rule decided.",
         .fixed_example = R"(# with --policy fp32-everything
import torch

layer = torch.nn.Linear(8, 8)
with torch.autocast("cpu", dtype=torch.bfloat16):
    with torch.autocast("cpu", enabled=False):
        y = layer(torch.randn(4, 8)))",
         .links = "https://docs.pytorch.org/docs/stable/amp.html#autocast-op-reference"},
    .judge = judge_deviations,
};

}  // namespace castscope::rules::policy_deviation
