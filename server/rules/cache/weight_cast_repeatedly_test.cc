#include <gmock/gmock.h>

#include "server/rules/testing/rules_test.h"

namespace castscope::rules::weight_cast_repeatedly {
namespace {

using WeightCastRepeatedlyTest = RulesTest;

TEST_F(WeightCastRepeatedlyTest, InferenceModeCastsWeightsAtEachUse) {
  expect_golden("weight_cast_repeatedly_inference_mode", judged([](TestRun& run) {
                  const auto region = run.region("generate.py", 5);
                  const auto weight = run.weight("generate.py", 8, "fc", WhyNotCached::kInferenceMode);
                  const auto input = run.input("generate.py", 8, "fc");
                  run.enter(region);
                  for (int i = 0; i < 2; ++i) run.cast(input, 0x10 + i).cast(weight, kWeight);
                  run.exit();
                }));
}

TEST_F(WeightCastRepeatedlyTest, NoGradKeepsThem) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("generate.py", 5);
    const auto weight = run.weight("generate.py", 8, "fc");
    const auto input = run.input("generate.py", 8, "fc");
    run.enter(region).cast(input, 0x10).cast(weight, kWeight, true).cast(input, 0x10).hit(weight, kWeight).exit();
  }));
}

TEST_F(WeightCastRepeatedlyTest, FrozenWeightsAtTwoLines) {
  expect_golden("weight_cast_repeatedly_frozen_weights", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto first = run.weight("train.py", 8, "base", WhyNotCached::kNoRequiresGrad);
                  const auto second = run.weight("train.py", 9, "base", WhyNotCached::kNoRequiresGrad);
                  run.enter(region).cast(first, kWeight).cast(second, kWeight).exit();
                }));
}

TEST_F(WeightCastRepeatedlyTest, FrozenWeightsUsedOncePerRegion) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "base", WhyNotCached::kNoRequiresGrad);
    for (int i = 0; i < 50; ++i) run.step().enter(region).cast(weight, kWeight).exit();
  }));
}

// The weight is used in a region of float16 within one of bfloat16: converting it once, to either dtype, would not do.
TEST_F(WeightCastRepeatedlyTest, AFrozenWeightInTwoDtypesIsCastOnceToEach) {
  const auto used = [](std::uint64_t times) {
    return [times](TestRun& run) {
      const auto outer = run.region("train.py", 5);
      const auto to = [&](std::uint8_t dtype, std::int64_t line) {
        return run.site({.stack = run.line("train.py", line, true),
                         .module = run.module("base"),
                         .call_site = run.call_site("aten::linear", 1, "weight"),
                         .region = outer,
                         .op = "",
                         .role = Role::kWeight,
                         .cause = lanes::Cause::kAutocast,
                         .why = WhyNotCached::kNoRequiresGrad,
                         .phase = lanes::Phase::kForward,
                         .from = kFloat32,
                         .to = dtype,
                         .flags = lanes::kSiteParameter});
      };
      const auto brain = to(kBFloat16, 8), half = to(kFloat16, 10);
      for (int step = 0; step < 3; ++step) {
        run.enter(outer);
        for (std::uint64_t i = 0; i < times; ++i) run.cast(brain, kWeight).cast(half, kWeight);
        run.exit();
      }
    };
  };
  expect_none(judged(used(1)));
  EXPECT_EQ(judged(used(2)).size(), 2u);  // at each line
}

// torch.jit.trace runs the code, and runs it again to check the trace; the cache is off, as tracing requires.
TEST_F(WeightCastRepeatedlyTest, ATraceAndItsCheckAreNoLoop) {
  const auto traced = [](std::uint8_t flags) {
    return [flags](TestRun& run) {
      const auto region = run.region("train.py", 5);
      const auto weight = run.weight("train.py", 8, "fc", WhyNotCached::kCacheDisabled,
                                     static_cast<std::uint8_t>(lanes::kSiteParameter | flags));
      run.enter(region);
      for (int i = 0; i < 3; ++i) run.cast(weight, kWeight);
      run.exit();
    };
  };
  expect_none(judged(traced(lanes::kSiteTracing)));
  EXPECT_EQ(judged(traced(0)).size(), 1u);
}

TEST_F(WeightCastRepeatedlyTest, AFrozenWeightChangedInPlaceNeedsItsCasts) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "base", WhyNotCached::kNoRequiresGrad);
    run.enter(region);
    for (std::uint32_t i = 0; i < 5; ++i) run.cast_data(weight, kWeight).version(i);
    run.exit();
  }));
}

TEST_F(WeightCastRepeatedlyTest, CastsBetweenTwoChangesOfAFrozenWeightAreOneTooMany) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "base", WhyNotCached::kNoRequiresGrad);
    run.enter(region);
    for (std::uint32_t i = 0; i < 10; ++i) run.cast_data(weight, kWeight).version(i / 2);
    run.exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].evidence_number, testing::Contains(testing::Pair("repeated_casts", 5)));
}

TEST_F(WeightCastRepeatedlyTest, AListOfFrozenWeightsEachUsedOnce) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "", WhyNotCached::kNoRequiresGrad);
    for (int step = 0; step < 3; ++step) {
      run.step().enter(region);
      for (int i = 0; i < 20; ++i) run.cast(weight, kWeight + i * 192);
      run.exit();
    }
  }));
}

TEST_F(WeightCastRepeatedlyTest, ViewsAreKnownByTheirData) {
  expect_golden("weight_cast_repeatedly_view", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto weight = run.weight("train.py", 8, "", WhyNotCached::kView);
                  run.enter(region).cast_data(weight, kWeight).cast_data(weight, kWeight).exit();
                }));
}

TEST_F(WeightCastRepeatedlyTest, ALoopOverTheRowsOfAWeightCastsEachOnce) {
  for (const WhyNotCached why : {WhyNotCached::kNotLeaf, WhyNotCached::kView, WhyNotCached::kNoRequiresGrad}) {
    expect_none(judged([&](TestRun& run) {
      const auto region = run.region("train.py", 5);
      const auto weight = run.weight("train.py", 8, "", why);
      run.enter(region);
      for (int i = 0; i < 8; ++i) run.cast_data(weight, kWeight + i * 4096);
      run.cast_data(weight, kWeight, 8).exit();  // all of them at once are another weight
    }));
  }
}

TEST_F(WeightCastRepeatedlyTest, ALoopOverTheRowsOfAWeightTwiceCastsEachAgain) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "", WhyNotCached::kNotLeaf);
    run.enter(region);
    for (int i = 0; i < 16; ++i) run.cast_data(weight, kWeight + i % 8 * 4096);
    run.exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].evidence_number, testing::Contains(testing::Pair("repeated_casts", 8)));
}

TEST_F(WeightCastRepeatedlyTest, ComputedWeightsAreToldByTheirSiteAndItSaysSo) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "", WhyNotCached::kNotLeaf, 0);
    run.enter(region).cast(weight, kWeight).cast(weight, kOther).exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].evidence_text, testing::Contains(testing::Pair("same_weight_by", "site")));
  EXPECT_THAT(findings[0].fix, testing::StartsWith("If it is the same weight"));
}

TEST_F(WeightCastRepeatedlyTest, ATensorInAParametersPlaceIsNoFrozenWeight) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "fc", WhyNotCached::kNoRequiresGrad, 0);
    run.enter(region).cast_data(weight, kWeight).cast_data(weight, kWeight).exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].fix, testing::HasSubstr("functional_call"));
  EXPECT_THAT(findings[0].fix, testing::Not(testing::HasSubstr("frozen")));
}

TEST_F(WeightCastRepeatedlyTest, DetachedWeightsTakeEachOthersAddresses) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "", WhyNotCached::kNoRequiresGrad);
    const auto other = run.weight("train.py", 8, "head", WhyNotCached::kNoRequiresGrad);
    run.enter(region).cast(weight, kWeight).cast(other, kOther).cast(weight, kOther).cast(other, kWeight).exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "weight-cast-repeatedly");
}

TEST_F(WeightCastRepeatedlyTest, TiedWeightUsedDirectlyIsKept) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "embedding");
    const auto head = run.weight("train.py", 9, "");
    run.enter(region).cast(weight, kWeight, true).hit(head, kWeight).exit();
  }));
}

TEST_F(WeightCastRepeatedlyTest, InputsAreNotWeights) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto input = run.input("train.py", 8, "fc");
    run.enter(region).cast(input, 0x10).cast(input, 0x10).exit();
  }));
}

TEST_F(WeightCastRepeatedlyTest, RecurrentCellsWithTheCacheOff) {
  expect_golden("weight_cast_repeatedly_cache_off", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto ih = run.weight("train.py", 8, "cell", WhyNotCached::kCacheDisabled);
                  const auto hh = run.weight("train.py", 8, "cell.hh", WhyNotCached::kCacheDisabled);
                  run.enter(region);
                  for (int i = 0; i < 5; ++i) run.cast(ih, kWeight).cast(hh, kOther);
                  run.exit();
                }));
}

TEST_F(WeightCastRepeatedlyTest, RecurrentCellsWithTheCacheOn) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "cell");
    run.enter(region).cast(weight, kWeight, true);
    for (int i = 0; i < 4; ++i) run.hit(weight, kWeight);
    run.exit();
  }));
}

std::vector<std::pair<std::string, std::int64_t>> evidence_of(const Finding& finding) {
  return {finding.evidence_number.begin(), finding.evidence_number.end()};
}

// Frozen experts in a ParameterList, used on one line.
TEST_F(WeightCastRepeatedlyTest, SeveralWeightsAtOnePlaceAreCounted) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto experts = run.weight("train.py", 8, "moe", WhyNotCached::kNoRequiresGrad);
    for (int step = 0; step < 2; ++step) {
      run.step().enter(region);
      for (int use = 0; use < 3; ++use)
        for (int i = 0; i < 8; ++i) run.cast(experts, kWeight + i * 192, false, 512);
      run.exit();
    }
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].title, "moe.weight and 7 other weights are cast again at each use (frozen weight)");
  EXPECT_EQ(evidence_of(findings[0]).front(), (std::pair<std::string, std::int64_t>("weight_count", 8)));
  ASSERT_TRUE(findings[0].savings);
  EXPECT_EQ(findings[0].savings->held_bytes, 8u * 512);
}

// One region makes more casts than the others, so the number of weights is not known.
TEST_F(WeightCastRepeatedlyTest, WhereRegionsDifferNoNumberIsTold) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto experts = run.weight("train.py", 8, "moe", WhyNotCached::kNoRequiresGrad);
    for (const int some : {8, 3}) {
      run.step().enter(region);
      for (int use = 0; use < 3; ++use)
        for (int i = 0; i < some; ++i) run.cast(experts, kWeight + i * 192);
      run.cast(experts, kWeight).exit();
    }
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].title, "moe.weight and others are cast again at each use (frozen weight)");
  EXPECT_NE(evidence_of(findings[0]).front().first, "weight_count");
}

TEST_F(WeightCastRepeatedlyTest, SecondCallOfAnLstmHitsTheCache) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "lstm");
    const auto input = run.input("train.py", 8, "lstm");
    run.enter(region);
    for (int i = 0; i < 4; ++i) run.cast(weight, kWeight + i, true);
    run.cast(input, 0x10);
    for (int i = 0; i < 4; ++i) run.hit(weight, kWeight + i);
    run.cast(input, 0x11).exit();
  }));
}

TEST_F(WeightCastRepeatedlyTest, CastsMadeInPythonAreNeverKept) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    store::SiteInfo info;
    info.stack = run.line("train.py", 8);
    info.region = region;
    info.op = "mylib::op";
    info.role = lanes::Role::kWeight;
    info.cause = lanes::Cause::kCustomCast;
    info.why = WhyNotCached::kNotAutocast;
    info.from = 6;
    info.to = 15;
    const auto weight = run.site(info);
    run.enter(region).cast(weight, kWeight).cast(weight, kWeight).exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "weight-cast-repeatedly");
}

// Ten steps of six events, 1 us apart, with two casts of 700 ns each.
std::optional<store::Savings> savings(const std::vector<Finding>& findings) {
  return findings.size() == 1 ? findings[0].savings : std::nullopt;
}
void ten_steps(TestRun& run, WhyNotCached why) {
  const auto region = run.region("train.py", 5);
  const auto weight = run.weight("train.py", 8, "base", why);
  for (int i = 0; i < 10; ++i) {
    run.step().enter(region);
    for (int use = 0; use < 2; ++use) run.cast(weight, kWeight, false, 4000, 700);
    run.exit();
  }
}

TEST_F(WeightCastRepeatedlyTest, AFrozenWeightThatIsConvertedOnceSavesAllItsCasts) {
  const auto saved = savings(judged([](TestRun& run) { ten_steps(run, WhyNotCached::kNoRequiresGrad); }));
  ASSERT_TRUE(saved);
  EXPECT_DOUBLE_EQ(saved->ns_per_step, 1400);
  EXPECT_NEAR(saved->share_of_step, 14. / 50, 0.01);
  EXPECT_EQ(saved->held_bytes, 4000u);
}

TEST_F(WeightCastRepeatedlyTest, AKeptCopySavesAllCastsButOneARegion) {
  const auto saved = savings(judged([](TestRun& run) { ten_steps(run, WhyNotCached::kCacheDisabled); }));
  ASSERT_TRUE(saved);
  EXPECT_DOUBLE_EQ(saved->ns_per_step, 700);
  EXPECT_EQ(saved->held_bytes, 4000u);
}

TEST_F(WeightCastRepeatedlyTest, TheFirstCastOfAllIsNoMeasure) {
  const auto saved = savings(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "base", WhyNotCached::kNoRequiresGrad);
    for (int i = 0; i < 10; ++i) {
      const std::uint32_t ns = i == 0 ? 1'000'000 : 500;
      run.step().enter(region).cast(weight, kWeight, false, 4000, ns).cast(weight, kWeight, false, 4000, 500).exit();
    }
  }));
  ASSERT_TRUE(saved);
  EXPECT_DOUBLE_EQ(saved->ns_per_step, 1000);
}

TEST_F(WeightCastRepeatedlyTest, WithoutStepsOnlyTheBytesAreKnown) {
  const auto saved = savings(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "base", WhyNotCached::kNoRequiresGrad);
    run.enter(region).cast(weight, kWeight).cast(weight, kWeight).exit();
  }));
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->ns_per_step, 0);
  EXPECT_EQ(saved->held_bytes, 1000u);
}

TEST_F(WeightCastRepeatedlyTest, NestedRegionsAreOneStay) {
  const auto findings = judged([](TestRun& run) {
    const auto outer = run.region("train.py", 5);
    auto info = TestRun::default_region();
    info.parent = outer;
    info.nesting = 2;
    const auto inner = run.region("train.py", 6, info);
    const auto weight = run.weight("train.py", 8, "fc", WhyNotCached::kNoRequiresGrad);
    run.enter(outer);
    for (int i = 0; i < 2; ++i) run.enter(inner).cast(weight, kWeight).exit();
    run.exit();
  });
  EXPECT_EQ(findings.size(), 1u);
}

// TransformerEncoderLayer in inference multiplies by views of its weights, in C++.
TEST_F(WeightCastRepeatedlyTest, TheFastPathOfATransformer) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("serve.py", 5);
    const auto weight = run.site(
        {.stack = run.stack({TestRun::torch_frame("nn/modules/transformer.py", "TransformerEncoderLayer.forward"),
                             TestRun::own_frame("serve", 7, "serve.py")}),
         .module = run.module("layers.0", "TransformerEncoderLayer"),
         .call_site = run.call_site("aten::addmm", 2, "mat2"),
         .region = region,
         .op = "",
         .role = Role::kWeight,
         .cause = lanes::Cause::kAutocast,
         .why = WhyNotCached::kNoRequiresGrad,
         .phase = lanes::Phase::kForward,
         .from = kFloat32,
         .to = kBFloat16});
    run.enter(region);
    for (int i = 0; i < 3; ++i) run.cast_data(weight, kWeight);
    run.exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].title, "a weight of layers.0 is cast again at each use (frozen weight)");
  EXPECT_NE(findings[0].fix.find("set_fastpath_enabled(False)"), std::string::npos);
}

}  // namespace
}  // namespace castscope::rules::weight_cast_repeatedly
