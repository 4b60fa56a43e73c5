#include "agent/matmuls/matmul_compute.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string_view>

#include "agent/matmuls/matmul_call.h"

namespace castscope::matmuls {

using lanes::MatmulCompute;

std::uint8_t scalar_type(cublas::DataType type) {
  switch (type) {
    case cublas::kR32F:
      return 6;
    case cublas::kR64F:
      return 7;
    case cublas::kR16F:
      return 5;
    case cublas::kR16BF:
      return 15;
    case cublas::kR8I:
      return 1;
    case cublas::kR8U:
      return 0;
    case cublas::kR32I:
      return 3;
    case cublas::kC16F:
      return 8;
    case cublas::kC32F:
      return 9;
    case cublas::kC64F:
      return 10;
    case cublas::kR8FE5M2:
      return 23;
    case cublas::kR8FE4M3:
      return 24;
    default:
      return kNotInTorch;
  }
}

unsigned bits_of(cublas::DataType type) {
  switch (type) {
    case cublas::kC64F:
      return 128;
    case cublas::kR64F:
    case cublas::kC32F:
      return 64;
    case cublas::kR32F:
    case cublas::kR32I:
    case cublas::kC16F:
    case cublas::kC16BF:
      return 32;
    case cublas::kR16F:
    case cublas::kR16BF:
      return 16;
    case cublas::kR4FE2M1:
      return 4;
    default:
      return 8;
  }
}

Tf32Override tf32_override() {
  const char* const value = std::getenv("NVIDIA_TF32_OVERRIDE");
  const std::string_view text = value == nullptr ? "" : value;
  return text == "0" ? Tf32Override::kOff : text == "1" ? Tf32Override::kOn : Tf32Override::kNone;
}

namespace {

// Compute types that start from fp32 and may round it; smaller inputs are left as they are.
MatmulCompute of_fp32(cublas::ComputeType type, unsigned mode, Tf32Override tf32) {
  const auto rounded = [&] {
    switch (type) {
      case cublas::kCompute32FFast16F:
        return MatmulCompute::kFastFp16;
      case cublas::kCompute32FFast16BF:
        return MatmulCompute::kFastBf16;
      case cublas::kCompute32FFastTf32:
        return MatmulCompute::kTf32;
      case cublas::kCompute32FEmulated16BFx9:
        return MatmulCompute::kBf16x9;
      default:
        break;
    }
    switch (mode & cublas::kModeBits) {
      case cublas::kTensorOpMath:
        return MatmulCompute::kFastFp16;
      case cublas::kTf32TensorOpMath:
        return MatmulCompute::kTf32;
      case cublas::kFp32EmulatedBf16x9Math:
        return MatmulCompute::kBf16x9;
      default:
        return MatmulCompute::kFp32;
    }
  }();
  if (tf32 == Tf32Override::kOff && rounded == MatmulCompute::kTf32) return MatmulCompute::kFp32;
  if (tf32 == Tf32Override::kOn && rounded == MatmulCompute::kFp32) return MatmulCompute::kTf32;
  return rounded;
}

}  // namespace

Compute compute_of(cublas::ComputeType type, cublas::DataType inputs, unsigned mode, Tf32Override tf32) {
  const bool pedantic = (mode & cublas::kModeBits) == cublas::kPedanticMath;
  const std::uint8_t asked = pedantic ? lanes::kMatmulPedantic : 0;
  switch (type) {
    case cublas::kCompute16F:
      return {MatmulCompute::kFp16, asked};
    case cublas::kCompute16FPedantic:
      return {MatmulCompute::kFp16, lanes::kMatmulPedantic};
    case cublas::kCompute32FPedantic:
      return {MatmulCompute::kFp32, lanes::kMatmulPedantic};
    case cublas::kCompute32F:
    case cublas::kCompute32FFast16F:
    case cublas::kCompute32FFast16BF:
    case cublas::kCompute32FFastTf32:
    case cublas::kCompute32FEmulated16BFx9: {
      const bool fp32 = inputs == cublas::kR32F || inputs == cublas::kC32F;
      const bool as_they_are = !fp32 || (pedantic && type == cublas::kCompute32F);
      return {as_they_are ? MatmulCompute::kFp32 : of_fp32(type, mode, tf32), asked};
    }
    case cublas::kCompute64F:
    case cublas::kCompute64FEmulatedFixedPoint:
      return {MatmulCompute::kFp64, asked};
    case cublas::kCompute64FPedantic:
      return {MatmulCompute::kFp64, lanes::kMatmulPedantic};
    case cublas::kCompute32I:
      return {MatmulCompute::kInt32, asked};
    case cublas::kCompute32IPedantic:
      return {MatmulCompute::kInt32, lanes::kMatmulPedantic};
  }
  return {};
}

cublas::ComputeType compute_type_of(cublas::DataType type) {
  if (type == cublas::kR16F) return cublas::kCompute16F;
  return type == cublas::kR64F || type == cublas::kC64F ? cublas::kCompute64F : cublas::kCompute32F;
}

std::uint8_t alignment(const void* address, std::uint64_t leading, std::uint64_t stride, cublas::DataType type) {
  const unsigned bits = bits_of(type);
  constexpr std::uint64_t kMost = 256;  // bytes
  const std::uint64_t all = reinterpret_cast<std::uintptr_t>(address) * 8 | leading * bits | stride * bits | kMost * 8;
  return static_cast<std::uint8_t>(std::max(std::countr_zero(all), 3) - 3);
}

}  // namespace castscope::matmuls
