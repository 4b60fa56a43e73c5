#include "server/rules/precision/positions.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/sites.h"
#include "server/store/run/causes.h"

namespace castscope::rules {

double spacing(double value, std::uint8_t dtype) {
  return std::max(1.0, std::ldexp(1, std::ilogb(value) + 1 - significant_bits(dtype)));
}

namespace {

constexpr std::string_view kSums[] = {"aten::add", "aten::add_", "aten::sub", "aten::sub_", "aten::rsub"};
constexpr std::string_view kLimits[] = {"aten::clamp", "aten::clamp_min", "aten::clip", "aten::maximum"};

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

// Something is divided by what the use gives back, and nothing else comes of it.
bool only_divides(const UseGraph& graph, store::OperatorUseId id) {
  std::set<store::OperatorUseId> seen = {id};
  std::vector<store::OperatorUseId> open = {id};
  bool divides = false;
  while (!open.empty()) {
    const store::OperatorUseId next = open.back();
    open.pop_back();
    for (const UseGraph::Edge& edge : graph.out_of(next)) {
      const store::OperatorUse& taker = graph.use(edge.flow->to);
      if (!is_forward(taker)) continue;
      if (base_name(taker.op) == "aten::div" && edge.flow->argument == 1)
        divides = true;
      else if (!is_one_of(base_name(taker.op), kLimits))
        return false;
      else if (seen.insert(taker.id).second)
        open.push_back(taker.id);
    }
  }
  return divides;
}

// Above this number float32 has whole numbers only (24 significant bits), so that being whole says nothing about
// counting.
constexpr double kNoFractions = 8388608;  // 2^23

// Autocast, or the code, casts a float tensor that holds whole numbers alone.
std::optional<IntegersAs> of_site(const store::RunData& data, const store::ValueRange& range) {
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
  if (std::fmod(range.most_integer, spacing(range.most_integer, site.to)) == 0) return std::nullopt;
  if (range.zeros * 2 > range.elements) return std::nullopt;
  return asked ? IntegersAs::kConverted : IntegersAs::kCast;
}

std::optional<IntegersAs> of_use(const UseGraph& graph, const store::ValueRange& range) {
  const store::OperatorUse& use = graph.use(range.use);
  if (!is_forward(use) || !is_low(use.result)) return std::nullopt;
  if (range.most_integer <= largest_exact_integer(use.result)) return std::nullopt;
  const auto as = how(use);
  if (!as || takes_a_mask(use)) return std::nullopt;
  // Pixels at a distance of 16 are exact in bfloat16; what is added to them (the corner of a box) then is not. A sum is
  // rounded before anybody sees it.
  const bool sums = is_one_of(base_name(use.op), kSums) || (as == IntegersAs::kCounted && !use.operands.empty());
  if (!sums && std::fmod(range.most_integer, spacing(range.most_integer, use.result)) == 0) return std::nullopt;
  if (as == IntegersAs::kConverted && only_divides(graph, use.id)) return std::nullopt;
  return as;
}

}  // namespace

std::optional<IntegersAs> rounds_integers(const store::RunData& data, const UseGraph& graph,
                                          const store::ValueRange& range) {
  if (range.integer_tensors == 0 || !range.integers_differ) return std::nullopt;
  return range.site != 0 ? of_site(data, range) : of_use(graph, range);
}

std::set<store::OperatorUseId> uses_that_round_integers(const store::RunData& data, const UseGraph& graph) {
  std::set<store::OperatorUseId> uses;
  std::set<store::StackId> converted;  // a conversion is a use beside its cast
  for (const store::ValueRange& range : data.value_ranges) {
    const auto as = rounds_integers(data, graph, range);
    if (as && range.use != 0) uses.insert(range.use);
    if (as == IntegersAs::kConverted && range.site != 0) converted.insert(data.sites[range.site].stack);
  }
  for (const store::OperatorUse& use : data.operator_uses)
    if (use.is(lanes::kUseConverts) && is_low(use.result) && converted.contains(use.stack)) uses.insert(use.id);
  return uses;
}

}  // namespace castscope::rules
