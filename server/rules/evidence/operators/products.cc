#include "server/rules/evidence/operators/products.h"

#include "server/rules/evidence/operators/dtypes.h"
#include "server/store/run/names.h"

namespace castscope::rules {
namespace {

using lanes::MatmulCompute;

// As a power of two: 2^4 bytes.
constexpr std::uint8_t kSixteenBytes = 4;

// Returns the dtype's name as people write it beside the dtype in which a product accumulates.
std::string short_dtype(std::uint8_t dtype) {
  if (dtype == kHalf) return "fp16";
  if (dtype == kBrain) return "bf16";
  if (dtype == kFloat) return "fp32";
  const std::string_view name = store::dtype_name(dtype);
  return name.starts_with("float8") ? "fp8" : std::string(name);
}

// Returns the bytes of an input's element; 0 for inputs that Tensor Cores do not take.
std::uint32_t element_bytes(const store::MatmulCall& call, std::uint8_t dtype) {
  const bool rounded = call.compute == MatmulCompute::kTf32;
  if (rounded && dtype == kFloat) return 4;
  return is_low(dtype) ? 2 : 0;
}

}  // namespace

std::string computed_in(const store::MatmulCall& call) {
  switch (call.compute) {
    case MatmulCompute::kFp16:
      return "fp16 accumulation";
    case MatmulCompute::kFp32:
      return is_true_fp32(call) ? "true fp32" : short_dtype(call.a) + ", fp32 accumulation";
    case MatmulCompute::kTf32:
      return "TF32";
    case MatmulCompute::kFastFp16:
      return "fp32 rounded to fp16";
    case MatmulCompute::kFastBf16:
      return "fp32 rounded to bf16";
    case MatmulCompute::kBf16x9:
      return "fp32 emulated by bf16";
    case MatmulCompute::kFp64:
      return "fp64";
    case MatmulCompute::kInt32:
      return "int32 accumulation";
    case MatmulCompute::kUnknown:
      break;
  }
  return "not known";
}

std::string sizes_of(const store::MatmulCall& call) {
  if (call.m == 0) return "many sizes";
  const std::string one = std::to_string(call.m) + " × " + std::to_string(call.n) + " × " + std::to_string(call.k);
  return call.batch > 1 ? std::to_string(call.batch) + " of " + one : one;
}

bool is_true_fp32(const store::MatmulCall& call) {
  return call.compute == MatmulCompute::kFp32 && call.a == kFloat && call.b == kFloat;
}

std::vector<Misaligned> misaligned(const store::MatmulCall& call) {
  const bool a_turned = call.is(lanes::kMatmulTransposeA), b_turned = call.is(lanes::kMatmulTransposeB);
  const struct {
    char matrix, dimension;
    std::uint32_t size, ld;
    std::uint8_t dtype, align;
  } all[] = {{'A', a_turned ? 'k' : 'm', a_turned ? call.k : call.m, call.lda, call.a, call.align_a},
             {'B', b_turned ? 'n' : 'k', b_turned ? call.n : call.k, call.ldb, call.b, call.align_b},
             {'C', 'm', call.m, call.ldc, call.c, call.align_c}};
  std::vector<Misaligned> found;
  for (const auto& one : all) {
    const std::uint32_t bytes = element_bytes(call, one.dtype);
    if (bytes == 0 || call.m == 0 || one.align >= kSixteenBytes) continue;
    found.push_back({.matrix = one.matrix,
                     .dimension = one.dimension,
                     .size = one.size,
                     .ld = one.ld,
                     .bytes = 1u << one.align,
                     .multiple = 16 / bytes});
  }
  return found;
}

}  // namespace castscope::rules
