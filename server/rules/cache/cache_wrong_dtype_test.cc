#include <gmock/gmock.h>

#include "server/rules/testing/rules_test.h"

namespace castscope::rules::cache_wrong_dtype {
namespace {

using CacheWrongDtypeTest = RulesTest;

std::uint32_t nested(TestRun& run, std::uint32_t outer, std::int64_t line, std::uint8_t dtype) {
  auto info = TestRun::default_region();
  info.parent = outer;
  info.nesting = 2;
  info.dtype = dtype;
  return run.region("train.py", line, info);
}

TEST_F(CacheWrongDtypeTest, ABfloat16CopyInAFloat16Region) {
  expect_golden("cache_wrong_dtype_bfloat16_copy_in_float16_region", judged([](TestRun& run) {
                  const auto outer = run.region("train.py", 5);
                  const auto first = run.weight("train.py", 6, "fc");
                  const auto inner = nested(run, outer, 7, kFloat16);
                  const auto second = run.weight("train.py", 8, "fc");  // to bfloat16, in the inner region
                  run.enter(outer).cast(first, kWeight, true).enter(inner).hit(second, kWeight).exit().exit();
                }));
}

// Once its dtype is changed, the same region has another definition.
TEST_F(CacheWrongDtypeTest, X03_TheDtypeChangedInsideAnOpenRegion) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto first = run.weight("train.py", 6, "fc");
    auto info = TestRun::default_region();
    info.dtype = kFloat16;
    run.region("train.py", 5, info);
    const auto second = run.weight("train.py", 8, "fc");
    run.enter(region).cast(first, kWeight, true).hit(second, kWeight).exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "cache-wrong-dtype");
  EXPECT_EQ(findings[0].location->line, 8);
}

TEST_F(CacheWrongDtypeTest, TwoRegionsOneAfterTheOther) {
  expect_none(judged([](TestRun& run) {
    for (const std::uint8_t dtype : {kBFloat16, kFloat16}) {
      auto info = TestRun::default_region();
      info.dtype = dtype;
      const auto region = run.region("train.py", 5, info);
      store::SiteInfo site;
      site.stack = run.line("train.py", 6);
      site.call_site = run.call_site("aten::linear", 1, "weight");
      site.region = region;
      site.role = Role::kWeight;
      site.cause = lanes::Cause::kAutocast;
      site.from = kFloat32;
      site.to = dtype;
      const auto weight = run.site(site);
      run.enter(region).cast(weight, kWeight, true).hit(weight, kWeight).exit();
    }
  }));
}

// The casts of a float32-policy operator in a bfloat16 region are never served from the cache.
TEST_F(CacheWrongDtypeTest, CastsToAnotherDtypeAreNoHits) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    store::SiteInfo site;
    site.stack = run.line("train.py", 6);
    site.call_site = run.call_site("aten::mse_loss", 0, "self");
    site.region = region;
    site.role = Role::kActivation;
    site.cause = lanes::Cause::kAutocast;
    site.why = WhyNotCached::kOtherDtype;
    site.from = kBFloat16;
    site.to = kFloat32;
    const auto loss = run.site(site);
    run.enter(region).cast(loss, kOther).cast(loss, kOther).exit();
  }));
}

}  // namespace
}  // namespace castscope::rules::cache_wrong_dtype
