// Numbers that an operator counts out (arange, linspace), as they are before its dtype rounds them. Knows nothing of
// PyTorch.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "agent/operators/value_sample.h"

namespace castscope::operators {

struct Counting {
  double start = 0, step = 0;  // step 0: nothing is counted
};

// Returns a sample of `numbers` numbers from `start` on; an empty one where they are not whole.
inline ValueSample counted_numbers(const Counting& counting, std::uint64_t numbers) {
  const auto [start, step] = counting;
  if (step == 0 || start != std::nearbyint(start) || step != std::nearbyint(step)) return {};
  const auto size = static_cast<std::int64_t>(numbers);
  const std::int64_t stride = 1;
  return sample_values([&](std::int64_t i) { return start + static_cast<double>(i) * step; }, &size, &stride, 1,
                       std::numeric_limits<double>::max());
}

}  // namespace castscope::operators
