// A sample of a tensor's values, read where they lie: nothing is copied, and no operator is called.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "agent/torch/spread_elements.h"

namespace castscope::operators {

inline constexpr std::uint64_t kMostSampled = 256;

struct ValueSample {
  std::uint64_t elements = 0;  // elements of the tensor
  std::uint32_t sampled = 0, not_finite = 0, zeros = 0, integers = 0;
  std::uint32_t beyond = 0;  // finite values larger than the largest finite number of the dtype cast to
  double most = 0;           // largest finite |x|
  double least = 0;          // smallest |x| that is not 0; 0 = none
};

// From here on every float32 number is an integer, whether it counts something or not (24 significant bits).
inline constexpr double kNoFractions = 1 << 23;

// `value_at(offset)` gives an element as a double. Takes all elements where there are few, else evenly spread ones,
// with the first and the last among them: values that count upwards have their largest at the end.
template <typename ValueAt>
ValueSample sample_values(ValueAt value_at, const std::int64_t* sizes, const std::int64_t* strides, std::size_t dims,
                          double limit) {
  ValueSample s;
  s.elements = 1;
  for (std::size_t d = 0; d < dims; ++d) s.elements *= static_cast<std::uint64_t>(sizes[d]);
  if (s.elements == 0) return s;
  s.sampled = static_cast<std::uint32_t>(std::min(s.elements, kMostSampled));
  agent::each_spread(s.elements, kMostSampled, [&](std::uint64_t number) {
    const double x = std::fabs(value_at(agent::offset_of(number, sizes, strides, dims)));
    if (!std::isfinite(x)) {
      ++s.not_finite;
      return;
    }
    s.zeros += x == 0;
    s.integers += x == std::nearbyint(x) && x < kNoFractions;
    s.beyond += x > limit;
    s.most = std::max(s.most, x);
    if (x != 0) s.least = s.least == 0 ? x : std::min(s.least, x);
  });
  return s;
}

}  // namespace castscope::operators
