#include "server/rules/evidence/operators/low_kernels.h"

#include <gtest/gtest.h>

#include "server/rules/evidence/operators/dtypes.h"

namespace castscope::rules {
namespace {

constexpr std::uint8_t kCpu = 0, kCuda = 1;

TEST(LowKernelsTest, TransformsAndSolversHaveNoneOnACpu) {
  for (const char* op : {"aten::fft_fft", "aten::linalg_inv", "aten::svd", "aten::qr", "aten::cdist", "aten::quantile",
                         "aten::polar.out", "aten::stft.center"}) {
    EXPECT_TRUE(raises_in(op, kCpu, kBrain)) << op;
    EXPECT_TRUE(raises_in(op, kCpu, kHalf)) << op;
  }
}

TEST(LowKernelsTest, OneIsMissingInBfloat16Alone) {
  EXPECT_TRUE(raises_in("aten::view_as_complex", kCpu, kBrain));
  EXPECT_FALSE(raises_in("aten::view_as_complex", kCpu, kHalf));
}

TEST(LowKernelsTest, OthersCompute) {
  for (const char* op : {"aten::prod", "aten::mse_loss", "aten::grid_sampler", "aten::fft_shift"})
    EXPECT_FALSE(raises_in(op, kCpu, kBrain)) << op;
  EXPECT_FALSE(raises_in("aten::cdist", kCpu, kFloat));
}

TEST(LowKernelsTest, OtherDevicesAreNotKnown) { EXPECT_FALSE(raises_in("aten::cdist", kCuda, kHalf)); }

}  // namespace
}  // namespace castscope::rules
