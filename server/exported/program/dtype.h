// The dtypes of a program's tensors, with the numbers that torch.export writes (torch/_export/serde/schema.py; c10
// numbers them differently).
#pragma once

#include <cstdint>
#include <string_view>

namespace castscope::exported {

enum class Dtype : std::uint8_t {  // numbers of the file format, never reused there
  kUnknown = 0,
  kUint8 = 1,
  kInt8 = 2,
  kInt16 = 3,
  kInt32 = 4,
  kInt64 = 5,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kComplex32 = 9,
  kComplex64 = 10,
  kComplex128 = 11,
  kBool = 12,
  kBFloat16 = 13,
  kUint16 = 28,
  kFloat8E4M3FN = 29,
  kFloat8E5M2 = 30,
  kFloat8E4M3FNUZ = 31,
  kFloat8E5M2FNUZ = 32,
  kFloat8E8M0FNU = 33,
  kUint32 = 34,
  kUint64 = 35,
};

// Returns "bfloat16"; "unknown" for a number that this castscope does not know.
std::string_view name(Dtype);
// Returns kUnknown for a number that stands for no dtype.
Dtype dtype_of(std::int64_t number);

inline bool is_half(Dtype dtype) { return dtype == Dtype::kFloat16 || dtype == Dtype::kBFloat16; }
// Autocast casts these, and its operators give them; it leaves float64 and the 8-bit dtypes alone.
inline bool is_eligible(Dtype dtype) { return is_half(dtype) || dtype == Dtype::kFloat32; }
inline bool is_floating(Dtype dtype) { return is_eligible(dtype) || dtype == Dtype::kFloat64; }
// Returns the dtype of arithmetic on two floating-point tensors.
Dtype promoted(Dtype, Dtype);

}  // namespace castscope::exported
