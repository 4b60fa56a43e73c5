#include "agent/matmuls/matmul_compute.h"

#include <gtest/gtest.h>

#include "agent/matmuls/matmul_call.h"

namespace castscope::matmuls {

void matmul_called(const MatmulCall&) noexcept {}

namespace {

using lanes::MatmulCompute;
using namespace cublas;  // NOLINT(google-build-using-namespace)

MatmulCompute compute(ComputeType type, DataType inputs, unsigned mode = kDefaultMath,
                      Tf32Override tf32 = Tf32Override::kNone) {
  return compute_of(type, inputs, mode, tf32).compute;
}

TEST(MatmulComputeTest, HalvesAreAddedUpAsTheComputeTypeSays) {
  EXPECT_EQ(compute(kCompute32F, kR16BF), MatmulCompute::kFp32);
  EXPECT_EQ(compute(kCompute32F, kR16F), MatmulCompute::kFp32);
  EXPECT_EQ(compute(kCompute16F, kR16F), MatmulCompute::kFp16);
  EXPECT_EQ(compute(kCompute32F, kR8FE4M3), MatmulCompute::kFp32);
}

TEST(MatmulComputeTest, Fp32IsRoundedWhereTheModeOrTheTypeAllowsIt) {
  EXPECT_EQ(compute(kCompute32F, kR32F), MatmulCompute::kFp32);
  EXPECT_EQ(compute(kCompute32F, kR32F, kTf32TensorOpMath), MatmulCompute::kTf32);
  EXPECT_EQ(compute(kCompute32F, kC32F, kTf32TensorOpMath), MatmulCompute::kTf32);
  EXPECT_EQ(compute(kCompute32FFastTf32, kR32F), MatmulCompute::kTf32);
  EXPECT_EQ(compute(kCompute32FFast16F, kR32F), MatmulCompute::kFastFp16);
  EXPECT_EQ(compute(kCompute32F, kR32F, kTensorOpMath), MatmulCompute::kFastFp16);
  EXPECT_EQ(compute(kCompute32FFast16BF, kR32F), MatmulCompute::kFastBf16);
  EXPECT_EQ(compute(kCompute32FEmulated16BFx9, kR32F), MatmulCompute::kBf16x9);
  EXPECT_EQ(compute(kCompute32F, kR32F, kFp32EmulatedBf16x9Math), MatmulCompute::kBf16x9);
}

TEST(MatmulComputeTest, TheFlagOfAModeIsNoModeOfItsOwn) {
  EXPECT_EQ(compute(kCompute32F, kR32F, kTf32TensorOpMath | kDisallowReducedPrecisionReduction), MatmulCompute::kTf32);
  EXPECT_EQ(compute(kCompute32F, kR32F, kDisallowReducedPrecisionReduction), MatmulCompute::kFp32);
}

TEST(MatmulComputeTest, OfSmallerInputsNothingIsRounded) {
  EXPECT_EQ(compute(kCompute32F, kR16F, kTf32TensorOpMath), MatmulCompute::kFp32);
  EXPECT_EQ(compute(kCompute32FFastTf32, kR16BF), MatmulCompute::kFp32);
  EXPECT_EQ(compute(kCompute32F, kR16F, kDefaultMath, Tf32Override::kOn), MatmulCompute::kFp32);
}

TEST(MatmulComputeTest, TheEnvironmentOverridesTheProgram) {
  EXPECT_EQ(compute(kCompute32FFastTf32, kR32F, kDefaultMath, Tf32Override::kOff), MatmulCompute::kFp32);
  EXPECT_EQ(compute(kCompute32F, kR32F, kTf32TensorOpMath, Tf32Override::kOff), MatmulCompute::kFp32);
  EXPECT_EQ(compute(kCompute32F, kR32F, kDefaultMath, Tf32Override::kOn), MatmulCompute::kTf32);
  EXPECT_EQ(compute(kCompute32FPedantic, kR32F, kDefaultMath, Tf32Override::kOn), MatmulCompute::kFp32);
  EXPECT_EQ(compute(kCompute32FFast16F, kR32F, kDefaultMath, Tf32Override::kOff), MatmulCompute::kFastFp16);
}

TEST(MatmulComputeTest, PedanticIsToldOfModeAndType) {
  const Compute pedantic{MatmulCompute::kFp32, lanes::kMatmulPedantic};
  EXPECT_EQ(compute_of(kCompute32F, kR32F, kPedanticMath, Tf32Override::kNone), pedantic);
  EXPECT_EQ(compute_of(kCompute32FPedantic, kR32F, kTf32TensorOpMath, Tf32Override::kNone), pedantic);
  EXPECT_EQ(compute_of(kCompute32F, kR32F, kDefaultMath, Tf32Override::kNone).flags, 0);
}

TEST(MatmulComputeTest, ATypeThatIsNotKnownIsUnknown) {
  EXPECT_EQ(compute(static_cast<ComputeType>(0), kR32F), MatmulCompute::kUnknown);
  EXPECT_EQ(compute(static_cast<ComputeType>(1000), kR16F), MatmulCompute::kUnknown);
  EXPECT_EQ(scalar_type(static_cast<DataType>(255)), kNotInTorch);
  EXPECT_EQ(scalar_type(kR4FE2M1), kNotInTorch);
}

TEST(MatmulComputeTest, AlignmentIsThatOfTheWorst) {
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<const void*>(address); };
  EXPECT_EQ(alignment(at(0x1000), 64, 0, kR32F), 8);     // 256 bytes, the most
  EXPECT_EQ(alignment(at(0x1000), 8, 0, kR16BF), 4);     // columns of 16 bytes
  EXPECT_EQ(alignment(at(0x1000), 1023, 0, kR16BF), 1);  // an odd number of halves
  EXPECT_EQ(alignment(at(0x1008), 64, 0, kR32F), 3);
  EXPECT_EQ(alignment(at(0x1000), 64, 4, kR16BF), 3);
  EXPECT_EQ(alignment(at(0x1000), 17, 0, kR8FE4M3), 0);
  EXPECT_EQ(alignment(at(0x1000), 1, 0, kR4FE2M1), 0);  // half a byte
  EXPECT_EQ(alignment(nullptr, 3, 0, kC64F), 4);
}

}  // namespace
}  // namespace castscope::matmuls
