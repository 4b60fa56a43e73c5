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
  // bfloat16 rounds one of the sampled integers; float16 rounds one.
  bool rounds_in_bfloat16 = false, rounds_in_float16 = false;
};

inline constexpr int kBitsOfBFloat16 = 8, kBitsOfFloat16 = 11;  // significant bits

// Returns whether a dtype with so many significant bits rounds this whole number. It holds all up to 2^bits.
inline bool is_rounded(double x, int significant_bits) {
  return x > 1 << significant_bits && std::fmod(x, std::ldexp(1, std::ilogb(x) + 1 - significant_bits)) != 0;
}

// Notes a whole number.
inline void note_integer(ValueSample& s, double x) {
  ++s.integers;
  s.rounds_in_bfloat16 |= is_rounded(x, kBitsOfBFloat16);
  s.rounds_in_float16 |= is_rounded(x, kBitsOfFloat16);
}

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
  const std::uint64_t stride = s.elements / kMostSampled;
  agent::each_spread(s.elements, kMostSampled, [&](std::uint64_t number) {
    // At even distances the values may be even, too (rows of positions): each is taken from anywhere in its stretch.
    constexpr std::uint64_t kMixed = 0x9e3779b97f4a7c15;
    if (number > 0 && stride > 1 && number + stride < s.elements) number += (number * kMixed >> 40) % stride;
    const double x = std::fabs(value_at(agent::offset_of(number, sizes, strides, dims)));
    if (!std::isfinite(x)) {
      ++s.not_finite;
      return;
    }
    s.zeros += x == 0;
    if (x == std::nearbyint(x) && x < kNoFractions) note_integer(s, x);
    s.beyond += x > limit;
    s.most = std::max(s.most, x);
    if (x != 0) s.least = s.least == 0 ? x : std::min(s.least, x);
  });
  return s;
}

}  // namespace castscope::operators
