#include <gmock/gmock.h>

#include "server/rules/testing/fsdp_site.h"

namespace castscope::rules::fsdp_autocast_conflict {
namespace {

using FsdpAutocastConflictTest = RulesTest;

TEST_F(FsdpAutocastConflictTest, TheSameDtype) {
  expect_golden("fsdp_autocast_conflict_same_dtype", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto input = fsdp_site(run, region, kBFloat16, Role::kInput);
                  run.enter(region).cast(input, 0x10).exit();
                }));
}

TEST_F(FsdpAutocastConflictTest, AnotherDtype) {
  expect_golden("fsdp_autocast_conflict_other_dtype", judged([](TestRun& run) {
                  store::RegionInfo half = TestRun::default_region();
                  half.dtype = kFloat16;
                  const auto region = run.region("train.py", 5, half);
                  const auto input = fsdp_site(run, region, kBFloat16, Role::kInput);
                  // As a consequence, autocast casts FSDP's copies again, and a norm gets both dtypes.
                  const auto again = run.site({.stack = run.line("train.py", 9, true),
                                               .call_site = run.call_site("aten::linear", 1, "weight"),
                                               .region = region,
                                               .op = "",
                                               .role = Role::kWeight,
                                               .cause = lanes::Cause::kAutocast,
                                               .why = WhyNotCached::kNotFp32,
                                               .phase = lanes::Phase::kForward,
                                               .from = kBFloat16,
                                               .to = kFloat16});
                  run.enter(region).cast(input, 0x10).cast(again, kWeight);
                  run.seen(run.error(9, "mixed dtype (CPU): expected BFloat16 but got Half type")).exit();
                }));
}

TEST_F(FsdpAutocastConflictTest, NoPolicyOrNoRegion) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 9, "fc");
    const auto outside = fsdp_site(run, 0, kBFloat16, Role::kInput);
    run.cast(outside, 0x10).enter(region).cast(weight, kWeight, true).exit();
  }));
}

TEST_F(FsdpAutocastConflictTest, ADisabledRegion) {
  expect_none(judged([](TestRun& run) {
    store::RegionInfo off = TestRun::default_region();
    off.enabled = false;
    const auto region = run.region("train.py", 5, off);
    const auto input = fsdp_site(run, region, kBFloat16, Role::kInput);
    run.enter(region).cast(input, 0x10).exit();
  }));
}

}  // namespace
}  // namespace castscope::rules::fsdp_autocast_conflict
