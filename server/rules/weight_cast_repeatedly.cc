// weight-cast-repeatedly: within one stay in an outermost autocast region the same weight is cast more than once,
// because PyTorch did not keep the copy. A weight used once per region is cast once per region: nothing to mend.
//
// The same weight: the same tensor in the same argument of the same module, whatever the line. For views, temporary
// tensors (`w.t()`, `w.data`) and non-leaf weights there is a new tensor at each use; there the same site counts.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "server/rules/finding.h"
#include "server/rules/list.h"
#include "server/store/names.h"

namespace castscope::rules {
namespace {

using lanes::WhyNotCached;

// Weights that are cast for the same reason at the same line are one finding.
struct Group {
  std::uint32_t stack = 0;
  WhyNotCached why{};
  store::Counts counts;
  std::uint64_t repeats = 0, most_in_region = 0;
  std::set<std::string> weights;
};

bool has_a_tensor_of_its_own(WhyNotCached why) { return why != WhyNotCached::kView && why != WhyNotCached::kNotLeaf; }

// Casts beyond the first one of a weight in a region, as far as events showed.
std::uint64_t repeats_of(const store::Site& site, const store::SiteEvidence& evidence) {
  const bool is_weight = site.role == lanes::Role::kWeight || site.role == lanes::Role::kBuffer;
  if (!is_weight || site.why == WhyNotCached::kNone || site.flags != 0) return 0;
  return has_a_tensor_of_its_own(site.why) ? evidence.same_source : evidence.repeats;
}

std::string weight_name(const store::RunData& data, const store::Site& site) {
  std::string module = site.module ? data.modules[site.module - 1].path : "";
  if (module.empty() && site.module) module = data.modules[site.module - 1].type;  // the outermost module itself
  std::string argument = site.call_site ? data.call_sites[site.call_site - 1].argument_name : "";
  if (argument.empty()) argument = store::name(site.role);
  const bool one_of_several = site.module != 0 && data.modules[site.module - 1].root_number > 1;
  return (module.empty() ? argument : module + "." + argument) +
         (one_of_several ? " of " + data.modules[site.module - 1].model() : "");
}

std::string fix_for(WhyNotCached why) {
  switch (why) {
    case WhyNotCached::kInferenceMode:
      return "Use torch.no_grad() instead of torch.inference_mode() around this code, or convert the model once with "
             "model.to(dtype): under inference_mode autocast keeps no copies.";
    case WhyNotCached::kCacheDisabled:
      return "Leave cache_enabled at True for this region, so that each weight is cast once per region.";
    case WhyNotCached::kNoRequiresGrad:
      return "Convert the frozen weights to the region's dtype once, before the loop (module.to(torch.bfloat16)): "
             "autocast keeps copies only of weights that require grad.";
    case WhyNotCached::kView:
      return "Pass the parameter itself (F.linear(x, w) instead of x @ w.t()), or cast it once before its uses: "
             "autocast keeps no copies of views.";
    case WhyNotCached::kNotLeaf:
      return "Cast the computed weight once (w = w.to(dtype)) and use that copy: autocast keeps only copies of leaf "
             "parameters, not of tensors computed from them.";
    case WhyNotCached::kNotFp32:
    case WhyNotCached::kOtherDtype:
      return "Store the weight in the dtype in which the operator uses it: autocast keeps only float32 weights cast to "
             "the region's dtype.";
    case WhyNotCached::kNotAutocast:
      return "Cast the weight once before its uses: casts made in Python (register_autocast, custom_fwd) are never "
             "kept.";
    default:
      return "Cast the weight once before its uses and pass the copy.";
  }
}

Finding tell(const Rule& rule, const store::RunData& data, const Group& group) {
  Finding finding = finding_of(rule, data, group.stack);
  const std::size_t weights = group.weights.size();
  const std::string& first = *group.weights.begin();
  finding.title = (weights == 1 ? first + " is" : first + " and " + counted(weights - 1, "other weight") + " are") +
                  " cast again at each use (" + std::string(store::name(group.why)) + ")";
  finding.evidence_number = {{"weights", weights},
                             {"casts", group.counts.casts},
                             {"casts_beyond_the_first_in_a_region", group.repeats},
                             {"most_casts_at_one_site_in_a_region", group.most_in_region},
                             {"bytes", group.counts.bytes},
                             {"cpu_ns", group.counts.cpu_ns}};
  finding.evidence_text = {{"why_not_cached", std::string(store::name(group.why))}, {"weight", first}};
  finding.fix = fix_for(group.why);
  return finding;
}

}  // namespace

std::vector<Finding> weight_cast_repeatedly(const Rule& rule, const store::RunData& data) {
  std::map<std::tuple<std::string, std::int64_t, WhyNotCached>, Group> groups;
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.site(use.site);
    const std::uint64_t repeats = repeats_of(site, use.evidence);
    if (repeats == 0) continue;
    const store::CodeLocation at = data.user_location(site.stack).value_or(store::CodeLocation());
    Group& group = groups[{at.file, at.line, site.why}];
    if (group.stack == 0) group.stack = site.stack;
    group.why = site.why;
    group.counts += use.counts;
    group.repeats += repeats;
    group.most_in_region = std::max(group.most_in_region, use.evidence.most_in_region);
    group.weights.insert(weight_name(data, site));
  }
  std::vector<Finding> findings;
  for (const auto& [key, group] : groups) findings.push_back(tell(rule, data, group));
  return findings;
}

}  // namespace castscope::rules
