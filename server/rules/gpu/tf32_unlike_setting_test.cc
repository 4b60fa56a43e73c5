#include <gmock/gmock.h>

#include "server/rules/evidence/counts/device_time.h"
#include "server/rules/testing/rules_test.h"

namespace castscope::rules::tf32_unlike_setting {
namespace {

using lanes::MatmulCompute;

constexpr const char* kHopper = "0 NVIDIA H100 80GB HBM3, compute capability 9.0";

class Tf32UnlikeSettingTest : public RulesTest {
 protected:
  struct Job {
    MatmulCompute compute = MatmulCompute::kFp32;
    std::vector<std::string> math = {"allow_tf32=0 cudnn_allow_tf32=1"};
    std::string gpu = kHopper;
    bool in_region = false, off = false;
    std::uint64_t ns = 900'000;
  };
  std::vector<Finding> judged_job(const Job& job) {
    std::vector<Finding> all = judged([&](TestRun& run) {
      for (const std::string& math : job.math) run.attribute("gpu_math", math);
      run.attribute("gpu_device", job.gpu);
      store::RegionInfo info = TestRun::default_region();
      info.device = 1;
      info.enabled = !job.off;
      const auto region = run.region("train.py", 5, info);
      const auto use = run.use({.op = "aten::mm",
                                .line = 12,
                                .operands = {operand(kFloat32)},
                                .flags = lanes::kUseEligible,
                                .outside = !job.in_region && !job.off,
                                .device = 1});
      const auto back = run.use({.op = "aten::mm",
                                 .operands = {operand(kFloat32)},
                                 .phase = lanes::Phase::kBackward,
                                 .node = "MmBackward0",
                                 .outside = true,
                                 .device = 1});
      run.enter(region).exit().deep().timed(2).called(use, 2).called(back, 2);
      run.launched(run.kernel({.name = "gemm", .use = use}), 2, job.ns);
      run.launched(run.kernel({.name = "gemm", .use = back}), 2, job.ns);
      run.launched(run.kernel({.name = "other"}), 2, 1'000'000);
      for (const auto of : {use, back})
        run.seen(run.matmul(of, TestRun::product(2048, 2048, 2048, kFloat32, job.compute)), 2);
      run.shallow();
    });
    std::erase_if(all, [](const Finding& finding) { return finding.rule != "tf32-unlike-setting"; });
    return all;
  }
};

TEST_F(Tf32UnlikeSettingTest, ProductsInTrueFloat32) {
  expect_golden("tf32_unlike_setting_products_in_float32", judged_job({}));
}

TEST_F(Tf32UnlikeSettingTest, WhoSwitchesAutocastOffIsNotToldToSwitchItOn) {
  const auto findings = judged_job({.off = true});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].title, testing::HasSubstr("with autocast off"));
  EXPECT_THAT(findings[0].fix, testing::Not(testing::HasSubstr("autocast cover")));
}

TEST_F(Tf32UnlikeSettingTest, RoundedThoughTheSettingsSayFloat32) {
  expect_golden("tf32_unlike_setting_rounded_to_tf32", judged_job({.compute = MatmulCompute::kTf32}));
}

TEST_F(Tf32UnlikeSettingTest, AsTheSettingsSay) {
  expect_none(judged_job({.compute = MatmulCompute::kTf32, .math = {"allow_tf32=1"}}));
  expect_none(judged_job({.compute = MatmulCompute::kTf32, .math = {"float32_matmul_precision=high"}}));
}

TEST_F(Tf32UnlikeSettingTest, WhatIsNotKnownOrChangedIsNotJudged) {
  for (const MatmulCompute compute : {MatmulCompute::kFp32, MatmulCompute::kTf32}) {
    expect_none(judged_job({.compute = compute, .math = {}}));
    expect_none(judged_job({.compute = compute, .math = {"allow_tf32=0", "allow_tf32=1"}}));
  }
}

TEST_F(Tf32UnlikeSettingTest, AGpuWithoutTf32) {
  expect_none(judged_job({.gpu = "0 Tesla V100, compute capability 7.0"}));
  expect_none(judged_job({.gpu = ""}));
}

TEST_F(Tf32UnlikeSettingTest, LittleTime) { expect_none(judged_job({.ns = 20'000})); }

TEST(MathSettingTest, IsAWordOfItsOwn) {
  EXPECT_EQ(math_setting("cudnn_allow_tf32=1 allow_tf32=0", "allow_tf32"), "0");
  EXPECT_EQ(math_setting("allow_tf32=0", "tf32"), "");
  EXPECT_EQ(math_setting("", "allow_tf32"), "");
}

}  // namespace
}  // namespace castscope::rules::tf32_unlike_setting
