#include "server/rules/testing/rules_test.h"

namespace castscope::rules::region_wrong_device {
namespace {

using RegionWrongDeviceTest = RulesTest;

constexpr std::uint8_t kXpu = 12;

store::RegionInfo xpu_region() {
  store::RegionInfo region = TestRun::default_region();
  region.device = kXpu;
  region.dtype = kFloat16;
  return region;
}
store::TestUse linear(std::int64_t line, std::uint8_t device = 0) {
  return {.op = "aten::linear",
          .line = line,
          .operands = {operand(kFloat32), operand(kFloat32, Role::kWeight)},
          .flags = lanes::kUseEligible,
          .device = device};
}

TEST_F(RegionWrongDeviceTest, XpuRegionAroundTheCpu) {
  expect_golden("region_wrong_device_xpu_region_on_cpu", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5, xpu_region());
                  const auto use = run.use(linear(8));
                  run.deep().enter(region).called(use, 4).exit();
                }));
}

TEST_F(RegionWrongDeviceTest, RegionOfTheRightDeviceInIt) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5, xpu_region());
    store::RegionInfo inner = TestRun::default_region();
    inner.parent = region;
    inner.nesting = 2;
    const auto right = run.region("train.py", 6, inner);
    const auto use = run.use(linear(8));
    run.deep().enter(region).enter(right).called(use).exit().exit();
  }));
}

TEST_F(RegionWrongDeviceTest, RegionOfTheRightDeviceAroundIt) {
  expect_none(judged([](TestRun& run) {
    const auto outer = run.region("train.py", 5);
    store::RegionInfo inner = xpu_region();
    inner.parent = outer;
    inner.nesting = 2;
    const auto region = run.region("train.py", 6, inner);
    auto cast = linear(8);
    cast.computed = kBFloat16;
    const auto use = run.use(cast);
    run.deep().enter(outer).enter(region).called(use).exit().exit();
  }));
}

TEST_F(RegionWrongDeviceTest, WorkOnBothDevices) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5, xpu_region());
    auto there = linear(7, kXpu);
    there.computed = kFloat16;
    const auto own = run.use(there), other = run.use(linear(8));
    run.deep().enter(region).called(own).called(other).exit();
  }));
}

// Casts are counted in every step, operators in deep steps only.
TEST_F(RegionWrongDeviceTest, ItsOwnDeviceHadWorkInOtherSteps) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5, xpu_region());
    const auto weight = run.site({.stack = run.line("train.py", 7),
                                  .region = region,
                                  .op = "",
                                  .cause = lanes::Cause::kAutocast,
                                  .from = kFloat32,
                                  .to = kFloat16,
                                  .device = kXpu});
    const auto other = run.use(linear(8));
    run.deep().enter(region).called(other).shallow().cast(weight, kWeight).exit();
  }));
}

TEST_F(RegionWrongDeviceTest, RegionOfAScript) {
  const auto findings = judged([](TestRun& run) {
    store::RegionInfo info = xpu_region();
    info.kind = lanes::RegionKind::kScript;
    const auto region = run.region("net.py", 5, info);
    const auto use = run.use(linear(6));
    run.deep().enter(region).called(use).exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].fix,
            "Name the device that the tensors are on: torch.autocast(\"cpu\"), or move model and data to xpu before. "
            "The operators then compute in low precision.");
}

TEST_F(RegionWrongDeviceTest, NothingThatAutocastWouldCast) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5, xpu_region());
    auto cat = linear(8);
    cat.op = "aten::cat";  // eligible, though it does as well without autocast
    auto norm = linear(9);
    norm.op = "aten::layer_norm";
    norm.flags = 0;
    const auto first = run.use(cat), second = run.use(norm);
    run.deep().enter(region).called(first).called(second).exit();
  }));
}

}  // namespace
}  // namespace castscope::rules::region_wrong_device
