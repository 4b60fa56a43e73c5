// weight-cast-repeatedly: within one stay in an outermost autocast region the same weight is cast more than once,
// because PyTorch did not keep the copy; or one forward pass has several stays, and each casts it again
// (reopened_region.h). A weight that is used once per region is cast once per region, which nothing
// can improve; a weight that was written to in place meanwhile needs its cast.
//
// Casts have the same weight when they have the same tensor in the same argument of the same module, whatever the line;
// where tensors are made anew for each use (`w.t()`, `w.data`, w.detach()), when they have the same data in the same
// shape. A weight that is computed for each use (weight_norm) has neither: there the rule goes by the site, and the
// finding says so, because a loop over different weights looks the same.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "server/rules/cache/reopened_region.h"
#include "server/rules/evidence/amp_handle.h"
#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/counts/step_time.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/sites.h"
#include "server/rules/evidence/weights.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::weight_cast_repeatedly {
namespace {

using lanes::WhyNotCached;

constexpr std::size_t kMostPlaces = 6;  // that a finding names, its own among them

// Weights that are cast for the same reason at the same place (cause_place()) are one finding.
struct Group {
  std::vector<store::StackId> stacks;  // one a line
  WhyNotCached why{};
  bool computed = false;            // for each use: nobody can tell whether it is one weight
  bool passed_in = false;           // the code passes a tensor in a parameter's place
  bool fast_path = false;           // PyTorch itself passed that tensor
  bool torch_view = false;          // PyTorch itself made the view
  std::optional<AmpHandle> handle;  // the handle that opened the region
  store::Counts counts;
  std::uint64_t repeats = 0, most_in_region = 0;
  std::map<std::string, std::uint64_t> weights;            // number of different weights of a name; 0: not known
  std::map<store::ProcessId, double> needless_ns;          // by process
  std::map<std::string, std::uint64_t> bytes_of_one_copy;  // by weight
};

// The number of different weights in the group; 0 where it is not known.
std::uint64_t weights_of(const Group& group) {
  std::uint64_t all = 0;
  for (const auto& [name, number] : group.weights) {
    if (number == 0) return 0;
    all += number;
  }
  return all;
}

// How often the outermost region of the site was entered.
std::uint64_t stays_of(const store::RunData& data, const store::SiteUse& use) {
  const store::RegionId region = data.outermost(data.sites[use.site].region);
  for (const store::RegionUse& one : data.region_uses)
    if (one.region == region && one.process == use.process) return one.entered;
  return 0;
}

// Several weights may be used at one place (a ParameterList on one line, the layers of an LSTM). The first casts of
// each stay give their number, if the stays were alike. 0: the stays were not alike, or events are missing.
std::uint64_t different_weights(const store::RunData& data, const store::SiteUse& use) {
  const std::uint64_t casts = use.counts.casts, most = use.evidence.most_in_region;
  const std::uint64_t first = casts - std::min(casts, use.evidence.same_source), entered = stays_of(data, use);
  const auto& lanes = data.processes[use.process].lanes;
  const bool lost = std::ranges::any_of(lanes, [](const store::LaneRow& lane) { return lane.dropped > 0; });
  if (first == entered) return 1;
  const bool alike = !lost && most > 0 && casts % most == 0 && first > 0 && first % (casts / most) == 0;
  if (alike) return first / (casts / most);
  return !lost && first < entered ? 1 : 0;
}

// The C++ path of TransformerEncoderLayer in inference, which torch.is_autocast_enabled() switches off on a GPU alone:
// it multiplies by views of the weights.
bool is_fast_path(const store::RunData& data, const store::Site& site) {
  return !(site.flags & lanes::kSiteParameter) && !frames_of(data, site.stack).empty() &&
         within_torch(data, frames_of(data, site.stack).front()) == "nn/modules/transformer.py";
}

// nn.MultiheadAttention takes queries, keys and values from one weight, in a function of torch.nn.functional.
bool is_view_by_torch(const store::RunData& data, const store::Site& site) {
  return site.why == WhyNotCached::kView && !frames_of(data, site.stack).empty() &&
         within_torch(data, frames_of(data, site.stack).front()) == "nn/functional.py";
}

// Inference mode is around all that a region does: it is one cause, however many lines cast. Any other reason lies in
// the line itself.
Line cause_place(const store::RunData& data, const store::Site& site) {
  const store::RegionId region = data.outermost(site.region);
  const bool by_region = site.why == WhyNotCached::kInferenceMode && region != 0 && data.regions[region].stack != 0;
  return line_of(data, by_region ? data.regions[region].stack : site.stack);
}

bool is_computed(const store::Site& site, const store::SiteEvidence& evidence) {
  return site.why == WhyNotCached::kNotLeaf && evidence.repeats > 0;
}

// Counts the casts of a weight beyond its first in a region, as far as events showed.
std::uint64_t repeats_of(const store::Site& site, const store::SiteEvidence& evidence) {
  if (site.cause == lanes::Cause::kScript) return 0;  // script-recasts-weights reports it
  if (!is_of_model(site) || site.why == WhyNotCached::kNone || (site.flags & lanes::kSiteNoCast)) return 0;
  // dtype-double-cast reports a float16 weight in a bfloat16 region, however often it is used.
  if (site.cause == lanes::Cause::kAutocast && is_low(site.from) && is_low(site.to)) return 0;
  return is_computed(site, evidence) ? evidence.repeats : evidence.same_source;
}

// Returns the operators that deep steps saw called, by line.
std::map<Line, std::set<std::string>> operators_by_line(const store::RunData& data) {
  std::map<Line, std::set<std::string>> operators;
  for (const store::OperatorUse& use : data.operator_uses)
    if (is_forward(use) && !use.is(lanes::kUseConverts)) operators[line_of(data, use.stack)].insert(short_name(use.op));
  return operators;
}

// The site casts a factor of a product that another operator makes inside itself from parts of its arguments
// (F.bilinear): the factor's place does not tell from which of the user's arguments it comes.
bool is_inside_another(const store::RunData& data, const store::Site& site,
                       const std::map<Line, std::set<std::string>>& operators) {
  const std::string argument = argument_name(data, site);
  const bool by_place = argument == "mat2" || argument == "batch2" || argument == "other" || argument == "self";
  const auto called = operators.find(line_of(data, site.stack));
  if (!by_place || (site.flags & lanes::kSiteParameter) || called == operators.end()) return false;
  return !called->second.contains(short_name(site.op)) && std::ranges::none_of(called->second, is_made_of_products);
}

// A frozen weight that is converted once before the loop is never cast again; any other weight still needs one cast for
// each region.
double needless_ns(const store::SiteUse& use, std::uint64_t repeats, bool frozen) {
  return ns_of_each_cast(use) * static_cast<double>(frozen ? use.counts.casts : repeats);
}

// A weight that is computed for each use may differ each time, so the finding promises nothing.
std::optional<store::Savings> savings_of(const Group& group, const std::map<store::ProcessId, StepTime>& times) {
  if (group.computed) return std::nullopt;
  double ns = 0;
  StepTime time;
  for (const auto& [process, saved] : group.needless_ns) {
    const auto its = times.find(process);
    if (its == times.end()) continue;
    ns += saved;
    time += its->second;
  }
  store::Savings savings = savings_over(ns, time);
  if (weights_of(group) == 0) return savings;
  for (const auto& [weight, bytes] : group.bytes_of_one_copy) savings.held_bytes += bytes;
  return savings;
}

std::string fix_for(const Group& group) {
  if (group.fast_path)
    return "Call torch.backends.mha.set_fastpath_enabled(False) before this code: the fast path of TransformerEncoder "
           "casts views of the weights, which are not kept. Or convert the model once for inference "
           "(model.to(torch.bfloat16)) and run it without autocast.";
  switch (group.why) {
    case WhyNotCached::kInferenceMode:
      return "Use torch.no_grad() instead of torch.inference_mode() around this code, or convert the model once with "
             "model.to(dtype): under inference_mode autocast keeps no copies.";
    case WhyNotCached::kCacheDisabled:
      if (group.handle)
        return "Leave enable_caching at True in amp.init(), so that each weight is cast once per iteration: until " +
               scaled_loss(*group.handle) + " ends.";
      return "Leave cache_enabled at True for this region, so that each weight is cast once per region. Where it is "
             "off because weights change, or inputs come and go, while the region is open, open the region around each "
             "forward pass instead: its end empties the cache.";
    case WhyNotCached::kNoRequiresGrad:
      if (group.passed_in)
        return "Cast the tensor once, before its uses (w = w.to(torch.bfloat16)), and pass that copy: it stands in a "
               "parameter's place (functional_call, .detach(), .data) but requires no grad, and autocast keeps copies "
               "only of weights that do.";
      return "Convert the frozen weights to the region's dtype once, before the loop (module.to(torch.bfloat16)): "
             "autocast keeps copies only of weights that require grad. Averages that the program still writes to "
             "(EMA) stay in float32.";
    case WhyNotCached::kNotLeaf:
      if (group.computed)
        return "If it is the same weight each time, compute and cast it once (w = w.to(dtype)) and use that copy: "
               "autocast keeps only copies of leaf parameters, not of tensors computed from them.";
      [[fallthrough]];
    case WhyNotCached::kView:
      if (group.torch_view)
        return "For inference, convert the model once (model.to(torch.bfloat16)) and run it without autocast: PyTorch "
               "itself takes views of the weight here, and autocast keeps no copies of views.";
      return "Pass the parameter itself (F.linear(x, w) instead of x @ w.t()), or cast it once before its uses: "
             "autocast keeps no copies of views.";
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

void add_finding(Inquiry& inquiry, const Group& group, const std::map<store::ProcessId, StepTime>& times) {
  Finding& finding = inquiry.add(group.stacks.front());
  for (std::size_t i = 1; i < std::min(group.stacks.size(), kMostPlaces); ++i)
    add_related(finding, inquiry.data, group.stacks[i]);
  std::set<std::string> names;
  for (const auto& [name, number] : group.weights) names.insert(name);
  const std::uint64_t weights = weights_of(group);
  finding.title =
      subject_of(first_of(names), weights) + (group.computed ? " computed and" : "") + " cast again at each use (" +
      (group.passed_in && !group.fast_path && group.why == WhyNotCached::kNoRequiresGrad ? "it requires no grad"
                                                                                         : why_not_kept(group.why)) +
      ")";
  if (weights > 0) finding.evidence_number = {{"weight_count", weights}};
  finding.evidence_number.insert(finding.evidence_number.end(), {{"casts", group.counts.casts},
                                                                 {"repeated_casts", group.repeats},
                                                                 {"most_casts_in_stay", group.most_in_region},
                                                                 {"bytes", group.counts.bytes},
                                                                 {"cpu_ns", group.counts.cpu_ns}});
  finding.evidence_text = {{"why_not_cached", std::string(store::name(group.why))},
                           {"weight", first_of(names)},
                           {"same_weight_by", group.computed ? "site" : "tensor"}};
  finding.fix = fix_for(group);
  finding.savings = savings_of(group, times);
}

void judge_repeats(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const std::map<Line, std::set<std::string>> operators = operators_by_line(data);
  std::map<std::tuple<Line, WhyNotCached, bool, bool>, Group> groups;
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    const std::uint64_t repeats = repeats_of(site, use.evidence);
    const bool fast_path = is_fast_path(data, site);
    if (repeats == 0 || (!fast_path && is_inside_another(data, site, operators))) continue;
    const bool computed = is_computed(site, use.evidence);
    const bool passed_in = site.role == lanes::Role::kWeight && !(site.flags & lanes::kSiteParameter);
    Group& group = groups[{cause_place(data, site), site.why, computed, passed_in}];
    const auto at_this_line = [&](store::StackId one) { return line_of(data, one) == line_of(data, site.stack); };
    if (std::ranges::none_of(group.stacks, at_this_line)) group.stacks.push_back(site.stack);
    group.why = site.why;
    group.computed = computed;
    if (site.region != 0) group.handle = amp_handle_of(data, data.regions[site.region]);
    group.passed_in = passed_in;
    group.counts += use.counts;
    group.repeats += repeats;
    group.most_in_region = std::max(group.most_in_region, use.evidence.most_in_region);
    group.fast_path |= fast_path;
    group.torch_view |= is_view_by_torch(data, site);
    const std::string weight = fast_path ? "a weight of " + module_name(data, site) : weight_name(data, site);
    const bool frozen = site.why == WhyNotCached::kNoRequiresGrad && !passed_in;
    // A weight that is computed anew, or a piece of one, is counted by its place.
    const std::uint64_t number = computed || fast_path ? 1 : different_weights(data, use);
    const auto [named, fresh] = group.weights.try_emplace(weight, number);
    if (!fresh) named->second = number == 0 || named->second == 0 ? 0 : std::max(named->second, number);
    group.needless_ns[use.process] += needless_ns(use, repeats, frozen);
    std::uint64_t& bytes = group.bytes_of_one_copy[weight];
    bytes = std::max(bytes, use.counts.casts == 0 ? 0 : number * use.counts.bytes / use.counts.casts);
  }
  const auto times = step_times(data);
  for (const auto& [key, group] : groups) add_finding(inquiry, group, times);
  judge_reopened_regions(inquiry);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "weight-cast-repeatedly",
    .severity = "performance",
    .harm = Harm::kTime,
    .summary = "a weight is cast again at each use because its copy is not kept, or not long enough",
    .thresholds = {},
    .sees = kEvents,
    .explanation = {.what = "Within one stay in an autocast region the same weight is cast more than once; or one "
                            "forward pass opens a region several times, in a loop, and casts its weights each time.",
                    .why = "Autocast keeps copies only of float32 leaf parameters that require grad, outside "
                           "inference mode and with its cache on. Anything else is cast again at each use. What it "
                           "keeps it keeps until the outermost region ends.",
                    .example = R"(import torch

layer = torch.nn.Linear(1024, 1024).requires_grad_(False)  # frozen: no copy is kept
with torch.autocast("cpu", dtype=torch.bfloat16):
    for _ in range(10):
        y = layer(torch.randn(1, 1024)))",
                    .fix = "Convert what is frozen once (`module.to(torch.bfloat16)`), pass parameters themselves "
                           "instead of views, use `no_grad` instead of `inference_mode`. Open the region around a loop "
                           "instead of inside it.",
                    .fixed_example = R"(import torch

layer = torch.nn.Linear(1024, 1024).requires_grad_(False)
layer.to(torch.bfloat16)
with torch.autocast("cpu", dtype=torch.bfloat16):
    for _ in range(10):
        y = layer(torch.randn(1, 1024)))",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_repeats,
};

}  // namespace castscope::rules::weight_cast_repeatedly
