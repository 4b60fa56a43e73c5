// dtype-overflow: the result of an operator in float16 has values that are not finite, while all values that it was
// given are finite: its numbers went beyond float16's largest, 65,504.
//
// The rule reports only operators whose input is known to have been finite until then, or more often than the result:
// the result of another operator that was inspected, a tensor whose cast was inspected, or a weight. (After the first
// optimizer step of such a run the weights are NaN, and so is everything else: only the first one counts.) It does not
// judge operators that put infinities where the code wants them (masks).
#include <algorithm>
#include <map>
#include <optional>

#include "server/rules/evidence/amp_handle.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/use_graph.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::dtype_overflow {
namespace {

// Besides the operators that autocast runs in low precision, these make numbers larger. (A division or a logarithm
// gives infinities although no number is too large.)
constexpr std::string_view kGrowing[] = {"aten::mul",  "aten::add",    "aten::sub", "aten::pow",     "aten::square",
                                         "aten::exp",  "aten::expm1",  "aten::sum", "aten::prod",    "aten::cumsum",
                                         "aten::norm", "aten::einsum", "aten::to",  "aten::_to_copy"};

struct Ranges {  // of one process: only within one does order in time mean anything
  std::map<store::OperatorUseId, store::ValueRange> of_use;
  std::map<store::SiteId, store::ValueRange> of_site;
  std::map<store::StackId, std::vector<store::SiteId>> sites_on;  // stack → cast sites whose source was inspected
};

void add_range(store::ValueRange& sum, const store::ValueRange& range) {
  sum.tensors += range.tensors, sum.elements += range.elements;
  sum.not_finite += range.not_finite, sum.not_finite_tensors += range.not_finite_tensors, sum.zeros += range.zeros,
      sum.beyond += range.beyond;
  sum.most = std::max(sum.most, range.most);
}

std::map<store::ProcessId, Ranges> ranges_by_process(const store::RunData& data) {
  std::map<store::ProcessId, Ranges> by_process;
  for (const store::ValueRange& range : data.value_ranges) {
    Ranges& ranges = by_process[range.process];
    if (range.use != 0) ranges.of_use[range.use] = range;
    if (range.site == 0) continue;
    ranges.of_site[range.site] = range;
    ranges.sites_on[data.sites[range.site].stack].push_back(range.site);
  }
  return by_process;
}

// Returns the casts of this use's arguments.
std::vector<const store::ValueRange*> casts_for(const store::RunData& data, const Ranges& ranges,
                                                const store::OperatorUse& use) {
  std::vector<const store::ValueRange*> casts;
  const auto on = ranges.sites_on.find(use.stack);
  if (on == ranges.sites_on.end()) return casts;
  for (const store::SiteId id : on->second) {
    const store::Site& site = data.sites[id];
    if (site.region == use.region && site.to == kHalf) casts.push_back(&ranges.of_site.at(id));
  }
  return casts;
}

// Returns the samples of the values that went in: of casts, and of results of other operators; nothing when some of
// them are not known.
std::optional<std::vector<const store::ValueRange*>> given_to(const UseGraph& graph, const Ranges& ranges,
                                                              const store::OperatorUse& use,
                                                              const std::vector<const store::ValueRange*>& casts) {
  std::vector<const store::ValueRange*> given = casts;
  const auto made_by = graph.into(use.id);
  for (const lanes::Operand& operand : use.operands) {
    if (!is_floating_tensor(operand) || operand.role == lanes::Role::kWeight) continue;
    if (operand.dtype != kHalf) {  // it was cast: known only if the tensor that was cast was inspected
      if (casts.empty()) return std::nullopt;
      continue;
    }
    bool known = false;
    for (const UseGraph::Edge& edge : made_by) {
      if (edge.flow->argument != operand.argument) continue;
      const auto range = ranges.of_use.find(edge.flow->from);
      if (range == ranges.of_use.end()) return std::nullopt;
      given.push_back(&range->second);
      known = true;
    }
    if (!known) return std::nullopt;
  }
  return given;
}

// The result was once not finite when no input had ever been so, or it was so more often than the inputs.
bool makes_infinite(const store::ValueRange& result, const std::vector<const store::ValueRange*>& given) {
  const auto finite_until_then = [&](const store::ValueRange* one) {
    return one->not_finite == 0 || (one->first_not_finite != 0 && one->first_not_finite >= result.first_not_finite);
  };
  if (result.first_not_finite != 0 && std::all_of(given.begin(), given.end(), finite_until_then)) return true;
  double explained = 0;  // result tensors; an input may be sampled less often, or more if other calls take it
  for (const store::ValueRange* one : given) {
    if (one->tensors == 0) continue;
    const double each = static_cast<double>(result.tensors) / static_cast<double>(one->tensors);
    explained += static_cast<double>(one->not_finite_tensors) * std::max(1.0, each);
  }
  return static_cast<double>(result.not_finite_tensors) > explained;
}

constexpr double kAsGoodAsInfinite = 1e30;
// `(1 - mask) * -1e9` and finfo(torch.float32).min give numbers that are meant to be as good as infinite.
bool is_mask(const store::ValueRange& result, const std::vector<const store::ValueRange*>& casts) {
  return (result.most == 0 && result.zeros > 0) || std::any_of(casts.begin(), casts.end(), [](const auto* range) {
           return range->beyond > 0 && range->most >= kAsGoodAsInfinite;
         });
}

struct Group {
  store::OperatorUseId use = {};
  store::ValueRange result;
  double most_given = 0;        // largest number cast for it
  std::uint64_t too_large = 0;  // numbers among those that were already beyond float16
};

// Autocast casts for matrix products, and for them it can be switched off. Others compute in the dtype that they are
// given, which no region changes.
std::string fix_for(const store::RunData& data, const store::OperatorUse& use) {
  const std::string op(short_name(use.op));
  std::string fix = "Use bfloat16, whose range is float32's (dtype=torch.bfloat16), or scale down what goes in";
  if (use.is(lanes::kUseConverts)) return fix + ", or leave the conversion out: what it is given is in range.";
  const bool given_halves = std::ranges::any_of(use.operands, [](const lanes::Operand& o) { return o.dtype == kHalf; });
  if (!use.is(lanes::kUseEligible) && !is_made_of_products(use.op))
    return fix + ", or compute this in float32: give " + op +
           " its tensors with .float(). (To switch autocast off changes nothing here, since " + op +
           " computes in the dtype of its tensors.)";
  fix += " (attention scores: divide before the product), or compute this in float32 with `" +
         turned_off(data, use.region) + "`";
  return fix + (given_halves ? ", its tensors brought to float32 with .float()." : ".");
}

void add_finding(Inquiry& inquiry, const Group& group) {
  const store::OperatorUse& use = inquiry.data.operator_uses[group.use];
  Finding& finding = inquiry.add(use.stack);
  const std::string op(short_name(use.op));
  const bool in_cast = group.too_large > 0;
  const std::string most = std::to_string(static_cast<std::int64_t>(std::min(group.most_given, 9e18)));
  finding.title = in_cast ? "values of up to " + most + " become infinite where they are cast to float16" +
                                (use.is(lanes::kUseConverts) ? "" : " for " + op)
                          : op + " in float16 gives values that are not finite: they are beyond 65504";
  finding.evidence_number = {{"not_finite", group.result.not_finite},
                             {"sampled_elements", group.result.elements},
                             {"sampled_tensors", group.result.tensors},
                             {"not_finite_tensors", group.result.not_finite_tensors}};
  if (in_cast) finding.evidence_number.emplace_back("beyond_range", group.too_large);
  finding.evidence_text = {
      {"operator", use.op}, {"computed_in", "float16"}, {"largest", readable_number(group.result.most)}};
  finding.deep_only = true;
  finding.fix = fix_for(inquiry.data, use);
}

void judge_process(const store::RunData& data, const UseGraph& graph, const Ranges& ranges,
                   std::map<Line, Group>& groups) {
  for (const auto& [id, result] : ranges.of_use) {
    const store::OperatorUse& use = data.operator_uses[id];
    if (result.not_finite == 0 || use.result != kHalf || !is_forward(use) || use.is(lanes::kUseWrites)) continue;
    if (!use.is(lanes::kUseEligible) && !is_one_of(base_name(use.op), kGrowing)) continue;
    const auto casts = casts_for(data, ranges, use);
    const auto given = given_to(graph, ranges, use, casts);
    if (is_mask(result, casts) || !given || !makes_infinite(result, *given)) continue;
    Group& group = groups[line_of(data, use.stack)];
    if (group.use == 0) group.use = id;
    add_range(group.result, result);
    for (const store::ValueRange* cast : casts) {
      group.most_given = std::max(group.most_given, cast->most);
      group.too_large += cast->beyond;
    }
  }
}

void judge_overflow(Inquiry& inquiry) {
  const UseGraph graph(inquiry.data);
  std::map<Line, Group> groups;
  for (const auto& [process, ranges] : ranges_by_process(inquiry.data))
    judge_process(inquiry.data, graph, ranges, groups);
  for (const auto& [line, group] : groups) add_finding(inquiry, group);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "dtype-overflow",
    .severity = "warning",
    .harm = Harm::kResults,
    .summary = "finite values become infinite in float16",
    .thresholds = {},
    .sees = kOperators | kEvents,
    .explanation = {.what = "An operator that computes in float16 was given finite numbers and gave back infinities.",
                    .why = "float16 ends at 65,504. What goes beyond is infinite, and NaN an operator or two later.",
                    .example = R"(import torch

with torch.autocast("cpu", dtype=torch.float16):
    queries, keys = 200 * torch.randn(64, 64), 200 * torch.randn(64, 64)
    scores = queries @ keys.t()  # sums of 64 products of about 40,000)",
                    .fix = "Use bfloat16, scale before the operator, or compute it in float32: with autocast off, and "
                           "`.float()` on tensors that are in float16 already.",
                    .fixed_example = R"(import torch

with torch.autocast("cpu", dtype=torch.bfloat16):
    queries, keys = 200 * torch.randn(64, 64), 200 * torch.randn(64, 64)
    scores = queries @ keys.t())",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_overflow,
};

}  // namespace castscope::rules::dtype_overflow
