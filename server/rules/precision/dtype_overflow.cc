// dtype-overflow: the result of an operator in float16 has values that are not finite, and what it was given has none:
// its numbers went beyond float16's largest, 65,504.
//
// Told only where it is known that what went in was finite more often: a result of another operator that was looked at,
// a tensor whose cast was looked at, or a weight. (Later in such a run the weights are NaN, and everything is.)
// Operators that put infinities where someone wants them (masks) are not asked.
#include <algorithm>
#include <map>
#include <optional>

#include "server/rules/dtypes.h"
#include "server/rules/operators.h"
#include "server/rules/places.h"
#include "server/rules/rules.h"
#include "server/rules/use_graph.h"
#include "server/rules/uses.h"
#include "server/store/names.h"

namespace castscope::rules {
namespace {

// Beside the operators that autocast runs in low precision: those that make numbers larger. (A division or a logarithm
// gives infinities without being too large for anything.)
constexpr std::string_view kGrowing[] = {"aten::mul",  "aten::add",    "aten::sub", "aten::pow",     "aten::square",
                                         "aten::exp",  "aten::expm1",  "aten::sum", "aten::prod",    "aten::cumsum",
                                         "aten::norm", "aten::einsum", "aten::to",  "aten::_to_copy"};

struct Ranges {
  std::map<std::uint32_t, store::ValueRange> of_use, of_site;
  std::map<std::uint32_t, std::vector<std::uint32_t>> sites_on;  // stack → cast sites whose source was looked at
};

void add(store::ValueRange& sum, const store::ValueRange& range) {
  sum.tensors += range.tensors, sum.elements += range.elements;
  sum.not_finite += range.not_finite, sum.not_finite_tensors += range.not_finite_tensors, sum.zeros += range.zeros,
      sum.beyond += range.beyond;
  sum.most = std::max(sum.most, range.most);
}

Ranges read(const store::RunData& data) {
  Ranges ranges;
  for (const store::ValueRange& range : data.value_ranges) {
    if (range.use != 0) add(ranges.of_use[range.use], range);
    if (range.site == 0) continue;
    if (ranges.of_site[range.site].tensors == 0) ranges.sites_on[data.site(range.site).stack].push_back(range.site);
    add(ranges.of_site[range.site], range);
  }
  return ranges;
}

// The casts of what this use was given.
std::vector<const store::ValueRange*> casts_for(const store::RunData& data, const Ranges& ranges,
                                                const store::OperatorUse& use) {
  std::vector<const store::ValueRange*> casts;
  const auto on = ranges.sites_on.find(use.stack);
  if (on == ranges.sites_on.end()) return casts;
  for (const std::uint32_t id : on->second) {
    const store::Site& site = data.site(id);
    if (site.region == use.region && site.to == kHalf) casts.push_back(&ranges.of_site.at(id));
  }
  return casts;
}

double share_not_finite(const store::ValueRange& range) {
  return range.tensors == 0 ? 0 : static_cast<double>(range.not_finite_tensors) / static_cast<double>(range.tensors);
}

// How many of the tensors that went in were not finite, at most, as a share; nothing when it is not known.
std::optional<double> went_in_not_finite(const UseGraph& graph, const Ranges& ranges, const store::OperatorUse& use,
                                         const std::vector<const store::ValueRange*>& casts) {
  double share = 0;
  for (const store::ValueRange* cast : casts) share += share_not_finite(*cast);
  const auto made_by = graph.into(use.id);
  for (const lanes::Operand& operand : use.operands) {
    if (!is_floating_tensor(operand) || operand.role == lanes::Role::kWeight) continue;
    if (operand.dtype != kHalf) {  // it was cast, and what was cast looked at, or nothing is known
      if (casts.empty()) return std::nullopt;
      continue;
    }
    bool known = false;
    for (const UseGraph::Edge& edge : made_by) {
      if (edge.flow->argument != operand.argument) continue;
      const auto range = ranges.of_use.find(edge.flow->from);
      if (range == ranges.of_use.end()) return std::nullopt;
      share += share_not_finite(range->second);
      known = true;
    }
    if (!known) return std::nullopt;
  }
  return share;
}

constexpr double kAsGoodAsInfinite = 1e30;
// `(1 - mask) * -1e9`, a finfo(torch.float32).min: numbers that are meant to be as good as infinite.
bool is_mask(const store::ValueRange& result, const std::vector<const store::ValueRange*>& casts) {
  return (result.most == 0 && result.zeros > 0) || std::any_of(casts.begin(), casts.end(), [](const auto* range) {
           return range->beyond > 0 && range->most >= kAsGoodAsInfinite;
         });
}

struct Group {
  std::uint32_t use = 0;
  store::ValueRange result;
  double most_given = 0;        // of what was cast for it
  std::uint64_t too_large = 0;  // of that, already beyond float16
};

void tell(Inquiry& inquiry, const Group& group) {
  const store::OperatorUse& use = inquiry.data.operator_use(group.use);
  Finding& finding = inquiry.add(use.stack);
  const std::string op(short_name(use.op));
  const bool in_cast = group.too_large > 0;
  const std::string most = std::to_string(static_cast<std::int64_t>(std::min(group.most_given, 9e18)));
  finding.title = in_cast ? "values of up to " + most + " become infinite where they are cast to float16" +
                                (use.is(lanes::kUseConverts) ? "" : " for " + op)
                          : op + " in float16 gives values that are not finite: they are beyond 65504";
  finding.evidence_number = {{"not_finite", group.result.not_finite},
                             {"elements_looked_at", group.result.elements},
                             {"tensors_looked_at", group.result.tensors},
                             {"tensors_not_finite", group.result.not_finite_tensors},
                             {"largest_finite", static_cast<std::int64_t>(group.result.most)}};
  if (in_cast) finding.evidence_number.emplace_back("given_beyond_float16", group.too_large);
  finding.evidence_text = {{"operator", use.op}, {"dtype", "float16"}};
  finding.deep_only = true;
  finding.fix =
      "Use bfloat16, whose range is float32's (dtype=torch.bfloat16), or scale down what goes in (attention "
      "scores: divide before the product), or compute this in float32 with `torch.autocast(device, "
      "enabled=False)`.";
}

void judge_overflow(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const Ranges ranges = read(data);
  const UseGraph graph(data);
  std::map<Line, Group> groups;
  for (const auto& [id, result] : ranges.of_use) {
    const store::OperatorUse& use = data.operator_use(id);
    if (result.not_finite == 0 || use.result != kHalf || !is_forward(use) || use.is(lanes::kUseWrites)) continue;
    if (!use.is(lanes::kUseEligible) && !is_one_of(base_name(use.op), kGrowing)) continue;
    const auto casts = casts_for(data, ranges, use);
    const std::optional<double> given = went_in_not_finite(graph, ranges, use, casts);
    if (is_mask(result, casts) || !given || share_not_finite(result) <= *given) continue;
    Group& group = groups[line_of(data, use.stack)];
    if (group.use == 0) group.use = id;
    add(group.result, result);
    for (const store::ValueRange* cast : casts) {
      group.most_given = std::max(group.most_given, cast->most);
      group.too_large += cast->beyond;
    }
  }
  for (const auto& [line, group] : groups) tell(inquiry, group);
}

}  // namespace

extern const Rule dtype_overflow;
const Rule dtype_overflow = {
    .name = "dtype-overflow",
    .severity = "warning",
    .summary = "finite values become infinite in float16",
    .thresholds = {},
    .explanation = {.what = "An operator that computes in float16 was given finite numbers and gave back infinities.",
                    .why = "float16 ends at 65,504. What goes beyond is infinite, and NaN an operator or two later.",
                    .example = R"(import torch

with torch.autocast("cpu", dtype=torch.float16):
    queries, keys = 200 * torch.randn(64, 64), 200 * torch.randn(64, 64)
    scores = queries @ keys.t()  # sums of 64 products of about 40,000)",
                    .fix = "Use bfloat16, scale before the product, or compute it in float32.",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_overflow,
};

}  // namespace castscope::rules
