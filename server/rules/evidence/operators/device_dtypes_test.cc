#include "server/rules/evidence/operators/device_dtypes.h"

#include <gtest/gtest.h>

#include "server/rules/evidence/operators/dtypes.h"

namespace castscope::rules {
namespace {

// For an operator in a region of bfloat16 on the CPU, returns "cuda: float32, …" where it would compute in another
// dtype.
std::string elsewhere(const std::string& op, std::uint8_t computed, std::vector<std::uint8_t> operands,
                      bool enabled = true) {
  store::RunData run;
  run.regions.resize(1);
  run.regions.front().id = store::RegionId(1), run.regions.front().dtype = kBrain,
  run.regions.front().enabled = enabled;
  store::OperatorUse use;
  use.op = op, use.computed = computed, use.region = store::RegionId(1);
  for (const std::uint8_t dtype : operands) use.operands.push_back({0, dtype, lanes::Role::kActivation, 0});
  std::string text;
  for (const DeviceDtype& one : computes_elsewhere(run, use))
    text += (text.empty() ? "" : ", ") + std::string(one.device) + (one.dtype == kFloat ? " float32" : " low");
  return text;
}

TEST(DeviceDtypesTest, SoftmaxAndNormsAreInFloat32OnAGpu) {
  EXPECT_EQ(elsewhere("aten::softmax.int", kBrain, {kBrain}), "cuda float32, xpu float32, mps float32");
  EXPECT_EQ(elsewhere("aten::layer_norm", kBrain, {kBrain, kFloat}).substr(0, 12), "cuda float32");
  EXPECT_EQ(elsewhere("aten::sum", kBrain, {kBrain}).substr(0, 12), "cuda float32");
}

TEST(DeviceDtypesTest, WhatComputesInTheSameIsNotTold) {
  EXPECT_EQ(elsewhere("aten::linear", kBrain, {kFloat, kFloat}), "");
  EXPECT_EQ(elsewhere("aten::softmax.int", kFloat, {kFloat}), "");
  EXPECT_EQ(elsewhere("aten::relu", kBrain, {kBrain}), "");
  EXPECT_EQ(elsewhere("aten::cat", kFloat, {kBrain, kFloat}), "");
}

TEST(DeviceDtypesTest, OutsideOfAutocastThereIsNothingToTell) {
  EXPECT_EQ(elsewhere("aten::softmax.int", kBrain, {kBrain}, /*enabled=*/false), "");
}

}  // namespace
}  // namespace castscope::rules
