// PyTorch's dtypes as rules speak of them. store::dtype_name has their names.
#pragma once

#include <cstdint>

namespace castscope::rules {

// c10::ScalarType
inline constexpr std::uint8_t kHalf = 5, kFloat = 6, kDouble = 7, kBrain = 15, kNoDtype = 0xff;

// What autocast casts down to.
inline bool is_low(std::uint8_t dtype) { return dtype == kHalf || dtype == kBrain; }
inline bool is_floating(std::uint8_t dtype) { return is_low(dtype) || dtype == kFloat || dtype == kDouble; }

// Significant bits of a number, the one before the point included: 10 + 1 and 7 + 1.
inline int significant_bits(std::uint8_t low_dtype) { return low_dtype == kHalf ? 11 : 8; }
// The largest number that counts upwards without a gap: 2048 in float16, 256 in bfloat16.
inline double largest_exact_integer(std::uint8_t low_dtype) { return 1 << significant_bits(low_dtype); }

}  // namespace castscope::rules
