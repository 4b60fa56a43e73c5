#include <gmock/gmock.h>

#include "server/rules/testing/rules_test.h"

namespace castscope::rules::cache_holds_input {
namespace {

using CacheHoldsInputTest = RulesTest;
using lanes::Staleness;

TEST_F(CacheHoldsInputTest, AnInputChangedInPlace) {
  expect_golden("cache_holds_input_changed_in_place", judged([](TestRun& run) {
                  const auto region = run.region("attack.py", 5);
                  const auto input = run.input("attack.py", 8, "fc");
                  const auto stale = run.fact(
                      FactKind::kStaleHit, 8,
                      {.subject = input, .detail = static_cast<std::uint16_t>(Staleness::kVersion), .text = ""},
                      "attack.py");
                  run.enter(region).cast(input, kOther, true);
                  for (int i = 0; i < 3; ++i) run.hit(input, kOther).seen(stale);
                  run.exit();
                }));
}

TEST_F(CacheHoldsInputTest, ManyInputsInOneRegion) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("attack.py", 5);
    const auto input = run.input("attack.py", 8, "fc");
    run.enter(region);
    for (int i = 0; i < 50; ++i) run.cast(input, kOther + i * 192, true, 2 << 20);
    run.exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "cache-holds-input");
  EXPECT_EQ(findings[0].location->line, 8);
  EXPECT_THAT(findings[0].evidence_number,
              testing::ElementsAre(testing::Pair("entries", 50), testing::Pair("entry_bytes", 50 * (2 << 20))));
}

TEST_F(CacheHoldsInputTest, BothAreOneFinding) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("attack.py", 5);
    const auto input = run.input("train.py", 8, "fc");
    const auto stale = run.stale_hit(input, 8, Staleness::kUnversioned);
    run.enter(region);
    for (int i = 0; i < 50; ++i) run.cast(input, kOther + i * 192, true);
    run.hit(input, kOther).seen(stale).exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].evidence_number, testing::Contains(testing::Pair("entries", 50)));
}

TEST_F(CacheHoldsInputTest, ARegionPerStep) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("attack.py", 5);
    const auto input = run.input("attack.py", 8, "fc");
    for (int i = 0; i < 50; ++i) run.step().enter(region).cast(input, kOther + i * 192, true).exit();
  }));
}

TEST_F(CacheHoldsInputTest, PlainInputsAreNotKept) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("attack.py", 5);
    const auto input = run.input("attack.py", 8, "fc");
    run.enter(region);
    for (int i = 0; i < 50; ++i) run.cast(input, kOther + i * 192);
    run.exit();
  }));
}

TEST_F(CacheHoldsInputTest, OneInputForSeveralLayersIsWhatTheCacheIsFor) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto query = run.input("train.py", 8, "query");
    const auto key = run.input("train.py", 9, "key");
    run.enter(region).cast(query, kOther, true);
    for (int i = 0; i < 20; ++i) run.hit(key, kOther);
    run.exit();
  }));
}

}  // namespace
}  // namespace castscope::rules::cache_holds_input
