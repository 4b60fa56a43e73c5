#include "agent/operators/promoted_integers.h"

#include <c10/core/ScalarType.h>

#include <algorithm>
#include <string_view>

#include "agent/operators/operator_info.h"
#include "agent/operators/values.h"

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

}  // namespace

ValueSample promoted_integers(const OpenUse& use) {
  for (std::size_t i = 0; i < use.n; ++i) {
    const GivenTensor& g = use.given[i];
    if (!c10::isIntegralType(static_cast<ScalarType>(g.dtype), false) || is_number(g) || is_scalar(g)) continue;
    if (!takes_numbers(*use.info) || !is_brought_to_half(use)) return {};
    if (i > 0 && use.info->base == "aten::div") return {};  // a quotient is no place
    const ValueSample sample = sample_of_integers(static_cast<const c10::TensorImpl*>(g.identity.tensor));
    const bool mostly_zeros = 2 * sample.zeros > sample.sampled;  // counts of words, one-hot
    return sample.most > kExactInBoth && !mostly_zeros ? sample : ValueSample{};
  }
  return {};
}

}  // namespace castscope::operators
