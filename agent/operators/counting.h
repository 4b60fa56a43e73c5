// Numbers that an operator counts out (arange, linspace), as they are before its dtype rounds them. Knows nothing of
// PyTorch.
#pragma once

#include <cstdint>

#include "agent/operators/value_sample.h"

namespace castscope::operators {

struct Counting {
  double start = 0, step = 0;  // step 0: nothing is counted
};

// Returns a sample of `numbers` numbers from `start` on, of which `most` is the largest that a dtype with so many
// significant bits rounds. The sample is empty where the numbers are not whole, or the dtype holds the two furthest
// from 0, and so, as a rule, all.
inline ValueSample counted_numbers(const Counting& counting, std::uint64_t numbers, int significant_bits) {
  const auto [start, step] = counting;
  if (step == 0 || numbers < 2 || start != std::nearbyint(start) || step != std::nearbyint(step)) return {};
  const auto at = [&](std::uint64_t i) { return std::fabs(start + static_cast<double>(i) * step); };
  const bool upwards = at(numbers - 1) >= at(0);
  const auto is_rounded = [&](double x) {
    return x != 0 && std::fmod(x, std::ldexp(1, std::ilogb(x) + 1 - significant_bits)) != 0;
  };
  ValueSample s;
  for (const std::uint64_t from_end : {0, 1}) {
    const double x = at(upwards ? numbers - 1 - from_end : from_end);
    if (is_rounded(x)) s.most = std::max(s.most, x);
  }
  if (s.most == 0 || s.most >= kNoFractions) return {};
  s.elements = numbers;
  s.sampled = s.integers = static_cast<std::uint32_t>(std::min(numbers, kMostSampled));
  s.least = std::min(at(0), at(numbers - 1));
  return s;
}

}  // namespace castscope::operators
