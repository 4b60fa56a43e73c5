#include "server/rules/evidence/operators/low_kernels.h"

#include <gtest/gtest.h>

#include "server/rules/evidence/operators/dtypes.h"

namespace castscope::rules {
namespace {

constexpr std::uint8_t kOnCpu = 0, kOnCuda = 1;

TEST(LowKernelsTest, TransformsAndSolversHaveNoneOnACpu) {
  for (const char* op : {"aten::fft_fft", "aten::linalg_inv", "aten::svd", "aten::qr", "aten::cdist", "aten::quantile",
                         "aten::polar.out", "aten::stft.center"}) {
    EXPECT_TRUE(raises_in(op, kOnCpu, kBrain)) << op;
    EXPECT_TRUE(raises_in(op, kOnCpu, kHalf)) << op;
  }
}

TEST(LowKernelsTest, OneIsMissingInBfloat16Alone) {
  EXPECT_TRUE(raises_in("aten::view_as_complex", kOnCpu, kBrain));
  EXPECT_FALSE(raises_in("aten::view_as_complex", kOnCpu, kHalf));
}

TEST(LowKernelsTest, OthersCompute) {
  for (const char* op : {"aten::prod", "aten::mse_loss", "aten::grid_sampler", "aten::fft_shift"})
    EXPECT_FALSE(raises_in(op, kOnCpu, kBrain)) << op;
  EXPECT_FALSE(raises_in("aten::cdist", kOnCpu, kFloat));
}

TEST(LowKernelsTest, OtherDevicesAreNotKnown) { EXPECT_FALSE(raises_in("aten::cdist", kOnCuda, kHalf)); }

}  // namespace
}  // namespace castscope::rules
