#include "server/rules/testing/rules_test.h"

namespace castscope::rules::region_disabled_silently {
namespace {

using RegionDisabledSilentlyTest = RulesTest;

constexpr std::uint8_t kCuda = 1;

store::RegionInfo disabled(std::uint8_t device, std::uint8_t dtype, std::uint8_t flags) {
  store::RegionInfo region = TestRun::default_region();
  region.device = device;
  region.dtype = dtype;
  region.enabled = false;
  region.flags = flags;
  return region;
}
constexpr std::uint8_t kNoDevice = lanes::kRegionAskedEnabled | lanes::kRegionNoDevice;
constexpr std::uint8_t kBadDtype = lanes::kRegionAskedEnabled | lanes::kRegionBadDtype;

TEST_F(RegionDisabledSilentlyTest, CudaWithoutAGpu) {
  expect_golden("region_disabled_silently_cuda_without_gpu", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5, disabled(kCuda, kFloat16, kNoDevice));
                  const auto linear = run.use({.op = "aten::linear",
                                               .line = 8,
                                               .operands = {operand(kFloat32), operand(kFloat32, Role::kWeight)},
                                               .flags = lanes::kUseEligible});
                  run.deep();
                  for (int i = 0; i < 2; ++i) run.enter(region).called(linear, 3).exit();
                }));
}

TEST_F(RegionDisabledSilentlyTest, Float32) {
  expect_golden("region_disabled_silently_float32", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5, disabled(0, kFloat32, kBadDtype));
                  run.enter(region).exit();
                }));
}

TEST_F(RegionDisabledSilentlyTest, X31_TorchScriptsAutocastIsOff) {
  const auto findings = judged([](TestRun& run) {
    store::RegionInfo info = disabled(0, kBFloat16, lanes::kRegionAskedEnabled | lanes::kRegionScriptOff);
    info.kind = lanes::RegionKind::kScript;
    run.enter(run.region("net.py", 5, info)).exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].title,
            "autocast for cpu is asked for here and stays off: TorchScript's autocast is off, so that the script's "
            "graph gets no casts");
}

TEST_F(RegionDisabledSilentlyTest, WithoutDeepStepsToo) {
  const auto findings = judged([](TestRun& run) {
    run.enter(run.region("train.py", 5, disabled(kCuda, kFloat16, kNoDevice))).exit();
    run.enter(run.region("train.py", 5, disabled(kCuda, kFloat16, kNoDevice | lanes::kRegionDefaultDtype))).exit();
  });
  ASSERT_EQ(findings.size(), 1u);  // both at one place
  EXPECT_FALSE(findings[0].deep_only);
}

TEST_F(RegionDisabledSilentlyTest, DisabledByTheCodeItself) {
  expect_none(judged([](TestRun& run) {
    run.enter(run.region("train.py", 5, disabled(kCuda, kFloat16, 0))).exit();
    run.enter(run.region("train.py", 6, disabled(0, kFloat32, lanes::kRegionDefaultDtype))).exit();
  }));
}

TEST_F(RegionDisabledSilentlyTest, OneOfSeveralDevicesIsThere) {
  expect_none(judged([](TestRun& run) {
    const auto cpu = run.region("train.py", 5);
    store::RegionInfo info = disabled(kCuda, kFloat16, kNoDevice);
    info.parent = cpu;
    info.nesting = 2;
    run.enter(cpu).enter(run.region("train.py", 6, info)).exit().exit();
  }));
}

}  // namespace
}  // namespace castscope::rules::region_disabled_silently
