#include "agent/operators/rounded_integers.h"

#include <c10/core/ScalarType.h>

#include <algorithm>
#include <string_view>

#include "agent/operators/operator_info.h"
#include "agent/operators/values.h"
#include "agent/torch/tensor_facts.h"

namespace castscope::operators {
namespace {

using c10::ScalarType;

// These compute with their integers, or give them back beside the others. (Most operators take integers as indexes.)
constexpr std::string_view kOperators[] = {"aten::add", "aten::sub",   "aten::rsub",  "aten::mul",
                                           "aten::cat", "aten::stack", "aten::where", "aten::div"};

constexpr double kExactInBoth = 256;  // bfloat16 has 8 significant bits, float16 11

bool takes_numbers(const OperatorInfo& info) {
  const std::string functional = functional_name(info.base);
  return std::ranges::find(kOperators, functional.empty() ? info.base : functional) != std::end(kOperators);
}

bool is_number(const GivenTensor& g) { return (g.flags & lanes::kOperandNumber) != 0; }
bool is_scalar(const GivenTensor& g) { return (g.flags & lanes::kOperandScalar) != 0; }

// Integers take the dtype of the floating tensors beside them, whatever dimensions these have.
bool is_brought_to_half(const OpenUse& use) {
  bool half = false;
  for (std::size_t i = 0; i < use.n; ++i) {
    const GivenTensor& g = use.given[i];
    const auto dtype = static_cast<ScalarType>(g.arrives());
    if (is_number(g) || !c10::isFloatingType(dtype)) continue;
    if (dtype != ScalarType::Half && dtype != ScalarType::BFloat16) return false;
    half = true;
  }
  return half;
}

// Counts of words and one-hot vectors are mostly zeros.
ValueSample if_large(const ValueSample& sample) {
  return sample.most > kExactInBoth && 2 * sample.zeros <= sample.sampled ? sample : ValueSample{};
}

double number_in(const c10::IValue& value) {
  return value.isInt() ? static_cast<double>(value.toInt()) : value.isDouble() ? value.toDouble() : 0;
}

}  // namespace

ValueSample integers_given(const OpenUse& use) {
  const bool converts = use.info->kind == OperatorInfo::Kind::kConversion;
  for (std::size_t i = 0; i < use.n; ++i) {
    const GivenTensor& g = use.given[i];
    if (!c10::isIntegralType(static_cast<ScalarType>(g.dtype), false) || is_number(g) || is_scalar(g)) continue;
    if (converts ? i > 0 : !takes_numbers(*use.info) || !is_brought_to_half(use)) return {};
    if (i > 0 && use.info->base == "aten::div") return {};  // a quotient is no place
    return if_large(sample_of_integers(static_cast<const c10::TensorImpl*>(g.identity.tensor)));
  }
  return {};
}

Counting counting_of(const OperatorInfo& info, c10::ArrayRef<const c10::IValue> inputs) {
  const auto number = [&](std::size_t i) { return i < inputs.size() ? number_in(inputs[i]) : 0; };
  if (info.name == "aten::arange") return {.start = 0, .step = 1};
  if (info.name == "aten::arange.start") return {.start = number(0), .step = 1};
  if (info.name == "aten::arange.start_step") return {.start = number(0), .step = number(2)};
  if (info.name == "aten::linspace" && number(2) > 1)
    return {.start = number(0), .step = (number(1) - number(0)) / (number(2) - 1)};
  return {};
}

ValueSample integers_counted(const OpenUse& use, const c10::TensorImpl* result) {
  if (use.counting.step != 0) {
    if (!agent::has_plain_sizes(result)) return {};
    const ValueSample numbers = counted_numbers(use.counting, static_cast<std::uint64_t>(result->numel_default()));
    return numbers.integers == numbers.sampled ? numbers : ValueSample{};
  }
  if (use.info->base != "aten::cumsum") return {};
  ValueSample sums = sample_of_half(result);
  if (sums.integers < sums.sampled) return {};
  // They were rounded before anybody sees them.
  sums.rounds_in_bfloat16 = sums.most > 1 << kBitsOfBFloat16;
  sums.rounds_in_float16 = sums.most > 1 << kBitsOfFloat16;
  return if_large(sums);
}

}  // namespace castscope::operators
