// The meaning of cuBLAS's types and modes for the precision of a product.
#pragma once

#include <cstdint>

#include "agent/lanes/definition_records.h"
#include "agent/matmuls/cublas_abi.h"

namespace castscope::matmuls {

// c10::ScalarType, or kNotInTorch.
std::uint8_t scalar_type(cublas::DataType type);
unsigned bits_of(cublas::DataType type);

// NVIDIA_TF32_OVERRIDE: cuBLAS obeys it before anything that the program says.
enum class Tf32Override : std::uint8_t { kNone, kOff, kOn };
Tf32Override tf32_override();

struct Compute {
  lanes::MatmulCompute compute = lanes::MatmulCompute::kUnknown;
  std::uint8_t flags = 0;  // lanes::kMatmulPedantic
  bool operator==(const Compute&) const = default;
};
// `mode` is the handle's; kDefaultMath where there is none, as in cuBLASLt. The function does not know whether a GPU
// has TF32: before compute capability 8.0 there is none, and TF32 means fp32.
Compute compute_of(cublas::ComputeType type, cublas::DataType inputs, unsigned mode, Tf32Override tf32);
// The compute type of a function that has its type in its name.
cublas::ComputeType compute_type_of(cublas::DataType type);

// log2 of the bytes that all of these are multiples of, at most 8: an address, a leading dimension and a stride in
// elements. 0 elements are a multiple of anything.
std::uint8_t alignment(const void* address, std::uint64_t leading, std::uint64_t stride, cublas::DataType type);

}  // namespace castscope::matmuls
