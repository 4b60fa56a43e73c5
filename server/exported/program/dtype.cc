#include "server/exported/program/dtype.h"

#include <algorithm>
#include <array>
#include <utility>

namespace castscope::exported {
namespace {

constexpr std::array<std::pair<Dtype, std::string_view>, 21> kNames = {{
    {Dtype::kUint8, "uint8"},
    {Dtype::kInt8, "int8"},
    {Dtype::kInt16, "int16"},
    {Dtype::kInt32, "int32"},
    {Dtype::kInt64, "int64"},
    {Dtype::kFloat16, "float16"},
    {Dtype::kFloat32, "float32"},
    {Dtype::kFloat64, "float64"},
    {Dtype::kComplex32, "complex32"},
    {Dtype::kComplex64, "complex64"},
    {Dtype::kComplex128, "complex128"},
    {Dtype::kBool, "bool"},
    {Dtype::kBFloat16, "bfloat16"},
    {Dtype::kUint16, "uint16"},
    {Dtype::kFloat8E4M3FN, "float8_e4m3fn"},
    {Dtype::kFloat8E5M2, "float8_e5m2"},
    {Dtype::kFloat8E4M3FNUZ, "float8_e4m3fnuz"},
    {Dtype::kFloat8E5M2FNUZ, "float8_e5m2fnuz"},
    {Dtype::kFloat8E8M0FNU, "float8_e8m0fnu"},
    {Dtype::kUint32, "uint32"},
    {Dtype::kUint64, "uint64"},
}};

}  // namespace

std::string_view name(Dtype dtype) {
  const auto* const at =
      std::find_if(kNames.begin(), kNames.end(), [&](const auto& known) { return known.first == dtype; });
  return at == kNames.end() ? "unknown" : at->second;
}

Dtype dtype_of(std::int64_t number) {
  const auto* const at = std::find_if(kNames.begin(), kNames.end(), [&](const auto& known) {
    return static_cast<std::int64_t>(known.first) == number;
  });
  return at == kNames.end() ? Dtype::kUnknown : at->first;
}

Dtype promoted(Dtype a, Dtype b) {
  if (a == b) return a;
  if (a == Dtype::kFloat64 || b == Dtype::kFloat64) return Dtype::kFloat64;
  return Dtype::kFloat32;  // also for float16 and bfloat16
}

}  // namespace castscope::exported
