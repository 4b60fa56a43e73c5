// PyTorch's dtypes under the names that rules use. store::dtype_name has PyTorch's names.
#pragma once

#include <cstdint>

namespace castscope::rules {

// c10::ScalarType
inline constexpr std::uint8_t kHalf = 5, kFloat = 6, kDouble = 7, kBrain = 15, kNoDtype = 0xff;

// Returns whether autocast casts down to this dtype.
inline bool is_low(std::uint8_t dtype) { return dtype == kHalf || dtype == kBrain; }
inline bool is_floating(std::uint8_t dtype) { return is_low(dtype) || dtype == kFloat || dtype == kDouble; }

// int16, int32 or int64: integers that may be too large for a half.
inline bool is_wide_integer(std::uint8_t dtype) { return dtype >= 2 && dtype <= 4; }

// Returns the significant bits of a number, including the one before the point: 10 + 1 and 7 + 1.
inline int significant_bits(std::uint8_t low_dtype) { return low_dtype == kHalf ? 11 : 8; }
// Returns the number up to which the dtype holds every whole number: 2048 in float16, 256 in bfloat16.
inline double largest_exact_integer(std::uint8_t low_dtype) { return 1 << significant_bits(low_dtype); }

}  // namespace castscope::rules
