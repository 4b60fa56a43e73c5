// region-redundant: nothing was ever cast in an autocast region: the model in it is in the region's low precision
// already, weights and all. Autocast then only inspects each argument of each operator. Where an optimizer updates
// these weights, that is likely a mistake.
//
// Not a finding: a region that casts anything at all (one float32 weight, a loss that it brings to float32), one whose
// operators belong to no model, and one that does nothing for another reason (region-empty, region-wrong-device).
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/use_graph.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/evidence/region_work.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::region_redundant {
namespace {

struct Stay {  // all stays in one outermost region, what is nested in it included
  std::uint64_t casts = 0, passes = 0, products = 0;
  store::OperatorUseId first_use = {};
};

// The cast is autocast's work, or that of what heeds the region (a dtype argument, custom_fwd); or FSDP made it, which
// has a rule of its own (fsdp-autocast-conflict).
bool needs_region(lanes::Cause cause) {
  return is_work_of_autocast(cause) || cause == lanes::Cause::kDtypeArgument || cause == lanes::Cause::kCustomCast ||
         cause == lanes::Cause::kFsdp;
}

// Autocast would run this operator with a weight in the region's dtype, and all its arguments have that dtype.
bool is_low_already(const store::OperatorUse& use, std::uint8_t dtype) {
  bool weight = false;
  for (const lanes::Operand& operand : use.operands) {
    if (!is_floating_tensor(operand)) continue;
    if (operand.dtype != dtype) return false;
    weight |= operand.role == lanes::Role::kWeight;
  }
  return weight && use.computed == dtype;
}

std::map<store::RegionId, Stay> stays(const store::RunData& data, const UseGraph& graph) {
  std::map<store::RegionId, Stay> by_region;
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    if (site.region == 0) continue;
    Stay& stay = by_region[data.outermost(site.region)];
    stay.passes += use.counts.passes;
    if (needs_region(site.cause)) stay.casts += use.counts.casts + use.counts.hits + use.counts.traced;
  }
  for (const store::OperatorUse& use : data.operator_uses) {
    if (use.region == 0 || !use.is(lanes::kUseEligible) || graph.total(use.id).times == 0) continue;
    Stay& stay = by_region[data.outermost(use.region)];
    const store::Region* region = enabled_region(data, use);
    const bool low = region != nullptr && is_low_already(use, region->dtype);
    if (low) stay.products += graph.total(use.id).times;
    if (low && stay.first_use == 0) stay.first_use = use.id;
  }
  return by_region;
}

// An optimizer updates weights in this dtype.
bool trains_in(const store::RunData& data, const UseGraph& graph, std::uint8_t dtype) {
  return std::ranges::any_of(data.operator_uses, [&](const store::OperatorUse& use) {
    return graph.total(use.id).times > 0 && is_upkeep(use) && use.operands.front().role == lanes::Role::kWeight &&
           use.operands.front().dtype == dtype;
  });
}

// The lines of regions in which nothing was cast, each with the first region there.
using Redundant = std::map<Line, std::pair<store::RegionId, Stay>>;
Redundant redundant_regions(const store::RunData& data, const UseGraph& graph) {
  Redundant lines;
  for (const auto& [id, stay] : stays(data, graph)) {
    const store::Region& region = data.regions[id];
    if (!region.enabled || region.kind != lanes::RegionKind::kContext) continue;
    auto& [first, sum] = lines[line_of(data, region.stack)];
    if (first == 0) first = id;
    sum.casts += stay.casts, sum.passes += stay.passes, sum.products += stay.products;
    if (sum.first_use == 0) sum.first_use = stay.first_use;
  }
  std::erase_if(lines, [](const auto& line) {
    const Stay& stay = line.second.second;
    return stay.casts > 0 || stay.passes == 0 || stay.products == 0;
  });
  return lines;
}

void add_finding(Inquiry& inquiry, const store::Region& region, const Stay& stay, bool trains) {
  const store::RunData& data = inquiry.data;
  const std::string dtype(store::dtype_name(region.dtype));
  Finding& finding = trains ? inquiry.add(region.stack, "warning") : inquiry.add(region.stack);
  finding.title = "nothing is cast in this autocast region: the model in it is in " + dtype + " already" +
                  (trains ? ", and an optimizer updates its weights in it, which loses small updates" : "");
  finding.evidence_number = {
      {"casts", 0}, {"pass_throughs", stay.passes}, {"operators_in_low_precision", stay.products}};
  finding.evidence_text = {{"region_dtype", dtype}, {"first_operator", data.operator_uses[stay.first_use].op}};
  add_related(finding, data, data.operator_uses[stay.first_use].stack);
  const std::string keep = "the model in float32 (leave out .half() or .to(torch." + dtype +
                           ")) and let autocast choose the dtype of each operator.";
  finding.fix = trains ? "Keep " + keep : "Leave the region out; or keep " + keep;
}

// Weights that are trained in low precision are one cause, however many regions use them.
void judge_redundant_regions(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const UseGraph graph(data);
  std::set<std::uint8_t> told;
  for (const auto& [line, entry] : redundant_regions(data, graph)) {
    const store::Region& region = data.regions[entry.first];
    const bool trains = trains_in(data, graph, region.dtype);
    if (trains && !told.insert(region.dtype).second) continue;
    add_finding(inquiry, region, entry.second, trains);
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "region-redundant",
    .severity = "info",
    .harm = Harm::kResults,
    .summary = "an autocast region casts nothing, because the model in it is already in low precision",
    .thresholds = {},
    .sees = kOperators,
    .explanation = {.what = "An autocast region in which nothing was cast: the weights and what goes in are in the "
                            "region's low precision already.",
                    .why = "It does nothing, and hides that the model has no float32 weights any more. Where an "
                           "optimizer updates them, the finding is a warning: bfloat16 has 8 significant bits, so that "
                           "an update of less than 1/512 of a weight is lost.",
                    .example = R"(import torch

layer = torch.nn.Linear(64, 64).bfloat16()
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = layer(torch.randn(8, 64, dtype=torch.bfloat16)))",
                    .fix = "Where the model is trained, keep its weights in float32. Else leave the region out.",
                    .fixed_example = R"(import torch

layer = torch.nn.Linear(64, 64).bfloat16()
y = layer(torch.randn(8, 64, dtype=torch.bfloat16)))",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_redundant_regions,
};

}  // namespace castscope::rules::region_redundant
