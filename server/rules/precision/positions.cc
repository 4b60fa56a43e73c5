#include "server/rules/precision/positions.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/sites.h"
#include "server/store/run/causes.h"

namespace castscope::rules {
namespace {

constexpr std::string_view kSums[] = {"aten::add", "aten::add_", "aten::sub", "aten::sub_", "aten::rsub"};
// What somebody divides by is limited, or gets something added that is not 0.
constexpr std::string_view kSteps[] = {"aten::clamp", "aten::clamp_min", "aten::clip", "aten::maximum", "aten::sqrt"};
constexpr std::string_view kTakers[] = {"aten::rsqrt", "aten::reciprocal", "aten::log", "aten::log1p"};
// With a number: positions that are compared with each other (a causal mask) have to be told apart.
constexpr std::string_view kComparisons[] = {"aten::gt", "aten::lt", "aten::ge", "aten::le", "aten::eq", "aten::ne"};

std::optional<IntegersAs> how(const store::OperatorUse& use) {
  if (use.operands.empty() || base_name(use.op) == "aten::cumsum") return IntegersAs::kCounted;
  const auto integer = std::ranges::find_if(use.operands, [](const lanes::Operand& operand) {
    return is_wide_integer(operand.dtype) && has_dimensions(operand);
  });
  if (integer == use.operands.end()) return std::nullopt;
  return use.is(lanes::kUseConverts) ? IntegersAs::kConverted : IntegersAs::kPromoted;
}

bool takes_a_mask(const store::OperatorUse& use) {
  return std::ranges::any_of(use.argument_names,
                             [](const std::string& name) { return name.find("mask") != std::string::npos; });
}

bool is_number(const lanes::Operand& operand) { return (operand.flags & lanes::kOperandNumber) != 0; }

// The operator takes the value together with a Python number.
bool takes_a_number(const store::OperatorUse& use) {
  return use.operands.size() == 1 || std::ranges::any_of(use.operands, is_number);
}

// How an operator takes a value that may be only a measure. For a measure the relative precision of a half is as good
// as for any other number; a position is compared with its neighbours.
enum class Taken : std::uint8_t { kAsMeasure, kOn, kScaled, kElse };

Taken taken_by(const store::OperatorUse& taker, std::uint8_t argument, bool scaled) {
  const std::string_view op = base_name(taker.op);
  if ((op == "aten::div" && argument == 1) || is_one_of(op, kTakers)) return Taken::kAsMeasure;
  if (is_one_of(op, kComparisons)) return takes_a_number(taker) ? Taken::kAsMeasure : Taken::kElse;
  if (op == "aten::div" || op == "aten::mul") return takes_a_number(taker) ? Taken::kScaled : Taken::kElse;
  if (is_product(taker.op)) return scaled ? Taken::kAsMeasure : Taken::kElse;
  return is_one_of(op, kSteps) || (is_one_of(op, kSums) && takes_a_number(taker)) ? Taken::kOn : Taken::kElse;
}

// Nothing comes of what the use gives back, except as a measure: something is divided by it, it is compared with a
// number, or it is normalised by one before a product takes it.
bool is_only_a_measure(const UseGraph& graph, store::OperatorUseId id) {
  using Place = std::pair<store::OperatorUseId, bool>;  // with whether it is scaled
  std::set<Place> seen = {{id, false}};
  std::vector<Place> open = {{id, false}};
  bool measures = false;
  while (!open.empty()) {
    const auto [next, scaled] = open.back();
    open.pop_back();
    measures |= scaled;
    for (const UseGraph::Edge& edge : graph.out_of(next)) {
      const store::OperatorUse& taker = graph.use(edge.flow->to);
      if (!is_forward(taker)) continue;
      const Taken taken = taken_by(taker, edge.flow->argument, scaled);
      if (taken == Taken::kElse) return false;
      if (taken == Taken::kAsMeasure)
        measures = true;
      else if (seen.insert({taker.id, scaled || taken == Taken::kScaled}).second)
        open.emplace_back(taker.id, scaled || taken == Taken::kScaled);
    }
  }
  return measures;
}

// The conversions of a line, which are uses beside their casts.
template <typename See>
void each_conversion(const UseGraph& graph, const store::RunData& data, store::StackId stack, See see) {
  for (const store::OperatorUse& use : data.operator_uses)
    if (use.is(lanes::kUseConverts) && is_low(use.result) && use.stack == stack && graph.total(use.id).times > 0)
      see(use);
}

bool converts_a_measure(const store::RunData& data, const UseGraph& graph, store::StackId stack) {
  std::size_t all = 0, measures = 0;
  each_conversion(graph, data, stack, [&](const store::OperatorUse& use) {
    ++all;
    measures += is_only_a_measure(graph, use.id);
  });
  return all > 0 && measures == all;
}

// Above this number float32 has whole numbers only (24 significant bits), so that being whole says nothing about
// counting.
constexpr double kNoFractions = 8388608;  // 2^23

// Autocast, or the code, casts a float tensor that holds whole numbers alone.
std::optional<IntegersAs> of_site(const store::RunData& data, const UseGraph& graph, const store::ValueRange& range) {
  const store::Site& site = data.sites[range.site];
  const bool asked = site.cause == lanes::Cause::kUserTo;
  if (!(store::is_autocasts(site.cause) || asked) || site.phase != lanes::Phase::kForward || !is_low(site.to))
    return std::nullopt;
  if (site.role == lanes::Role::kGradient || site.role == lanes::Role::kWeight || is_low(site.from))
    return std::nullopt;
  if (range.most_integer <= largest_exact_integer(site.to)) return std::nullopt;
  if (range.beyond > 0) return std::nullopt;
  if (range.most_integer >= kNoFractions || argument_text(data, site).find("mask") != std::string::npos)
    return std::nullopt;
  if (!range.integers_rounded) return std::nullopt;
  if (range.zeros * 2 > range.elements) return std::nullopt;
  if (asked && converts_a_measure(data, graph, site.stack)) return std::nullopt;
  return asked ? IntegersAs::kConverted : IntegersAs::kCast;
}

std::optional<IntegersAs> of_use(const UseGraph& graph, const store::ValueRange& range) {
  const store::OperatorUse& use = graph.use(range.use);
  if (!is_forward(use) || !is_low(use.result)) return std::nullopt;
  if (range.most_integer <= largest_exact_integer(use.result)) return std::nullopt;
  const auto as = how(use);
  if (!as || takes_a_mask(use)) return std::nullopt;
  // Pixels at a distance of 16 are exact in bfloat16; what is added to them (the corner of a box) then is not.
  if (!range.integers_rounded && !is_one_of(base_name(use.op), kSums)) return std::nullopt;
  if (as != IntegersAs::kPromoted && is_only_a_measure(graph, use.id)) return std::nullopt;
  return as;
}

}  // namespace

std::optional<IntegersAs> rounds_integers(const store::RunData& data, const UseGraph& graph,
                                          const store::ValueRange& range) {
  if (range.integer_tensors == 0 || !range.integers_differ) return std::nullopt;
  return range.site != 0 ? of_site(data, graph, range) : of_use(graph, range);
}

std::set<store::OperatorUseId> uses_that_round_integers(const store::RunData& data, const UseGraph& graph) {
  std::set<store::OperatorUseId> uses;
  for (const store::ValueRange& range : data.value_ranges) {
    const auto as = rounds_integers(data, graph, range);
    if (as && range.use != 0) uses.insert(range.use);
    if (as == IntegersAs::kConverted && range.site != 0)
      each_conversion(graph, data, data.sites[range.site].stack, [&](const auto& use) { uses.insert(use.id); });
  }
  return uses;
}

}  // namespace castscope::rules
