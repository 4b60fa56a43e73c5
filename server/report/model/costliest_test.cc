#include "server/report/model/costliest.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "server/report/forms/json.h"
#include "server/report/forms/terminal.h"
#include "server/report/testing/test_report.h"

namespace castscope::report {
namespace {

using lanes::WhyNotCached;
using store::TestRun;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kWeight = 0x7f0000001000;

class CostliestTest : public RecordedTest {
 protected:
  static std::string text(const store::RunData& data) { return summary(data, {.width = 160, .full = true}); }
};

// In a short run the first cast takes most of the time: it does not count for the order, and is reported apart.
TEST_F(CostliestTest, TheFirstCastOfAPlaceIsLeftOut) {
  const store::RunData data = recorded([](TestRun& run) {
    const auto cold = run.weight("train.py", 8, "cold", WhyNotCached::kNoRequiresGrad);
    const auto warm = run.weight("train.py", 9, "warm", WhyNotCached::kNoRequiresGrad);
    run.cast(cold, kWeight, false, 1000, 900'000);
    for (int i = 0; i < 3; ++i) run.cast(cold, kWeight).cast(warm, kWeight, false, 1000, 9'000);
  });
  const std::string all = text(data), page = all.substr(all.find("costliest casts"));
  EXPECT_THAT(page, HasSubstr("by share of the CPU time of all casts but each place's first\n"));
  EXPECT_THAT(page, HasSubstr("3 casts, 18 µs, not kept: frozen weight"));
  EXPECT_THAT(page, HasSubstr("4 casts, 2 µs (and 900 µs the first)"));
  EXPECT_LT(page.find("train.py:9"), page.find("train.py:8"));
  const auto json = to_json(data);
  EXPECT_EQ(json["totals"]["cpu_ns"], 928'500);
  EXPECT_EQ(json["totals"]["first_cpu_ns"], 909'000);
  EXPECT_EQ(json["sites"][1]["cpu_ns"], 27'000);
  EXPECT_EQ(json["sites"][1]["first_cpu_ns"], 9'000);
}

// A model of twelve blocks, the average of its weights, and a third copy.
TEST_F(CostliestTest, AModuleCountsOnceHoweverManyRootsHoldIt) {
  const store::RunData data = recorded([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    run.enter(region);
    for (std::uint32_t root = 1; root <= 3; ++root) {
      for (int block = 0; block < 12; ++block) {
        store::SiteInfo info;
        info.stack = run.line("train.py", 8);
        info.module = run.module("blocks." + std::to_string(block) + ".mlp.fc1", "Linear", root);
        info.call_site = run.call_site("aten::linear", 1, "weight");
        info.region = region;
        info.role = lanes::Role::kWeight;
        info.cause = lanes::Cause::kAutocast;
        info.phase = lanes::Phase::kForward;
        info.from = store::kFloat32;
        info.to = store::kBFloat16;
        run.cast(run.site(info), kWeight + root * 100 + static_cast<std::uint64_t>(block));
      }
    }
    run.exit();
  });
  EXPECT_THAT(text(data), HasSubstr("blocks.0.mlp.fc1 and 11 more"));
}

TEST_F(CostliestTest, WhereNoPlaceCastTwiceAllOfThemAreFirst) {
  const store::RunData data = recorded([](TestRun& run) {
    run.cast(run.weight("train.py", 8, "fc", WhyNotCached::kNoRequiresGrad), kWeight, false, 1000, 900'000);
  });
  EXPECT_THAT(text(data), HasSubstr("by share of the CPU time of all casts\n  100 %  train.py:8\n"));
  EXPECT_THAT(text(data), Not(HasSubstr("without")));
}

// Casts in compiled graphs are not timed.
TEST_F(CostliestTest, WhereNoneIsTimedTheLargestComeFirst) {
  const store::RunData data = recorded([](TestRun& run) {
    for (const auto& [line, bytes] : {std::pair{8, 1000}, {9, 3000}}) {
      const auto site = run.site({.stack = run.line("train.py", line, true),
                                  .op = "aten::linear",
                                  .role = lanes::Role::kWeight,
                                  .cause = lanes::Cause::kCompiled,
                                  .from = 6,
                                  .to = 15,
                                  .flags = lanes::kSiteCompiled});
      run.cast(site, kWeight, false, static_cast<std::uint64_t>(bytes), 0);
    }
  });
  const std::string all = text(data), page = all.substr(all.find("costliest casts"));
  EXPECT_THAT(all, HasSubstr("All casts are in compiled graphs, where they are not timed."));
  EXPECT_THAT(all, HasSubstr("; 2 casts in compiled graphs, 4.0 kB, not timed"));
  EXPECT_THAT(page, HasSubstr("by share of the bytes of all casts, as none was timed\n   75 %  train.py:9\n"));
  EXPECT_THAT(page, HasSubstr("3.0 kB, not timed"));
  EXPECT_THAT(page, Not(HasSubstr("0 µs")));
}

TEST_F(CostliestTest, WhatBackwardCastsIsOneEntry) {
  const store::RunData data = recorded([](TestRun& run) {
    for (const std::int64_t line : {20, 21}) {
      const auto gradient = run.site({.stack = run.line("train.py", line, true),
                                      .op = "ToCopyBackward0",
                                      .role = lanes::Role::kGradient,
                                      .cause = lanes::Cause::kBackward,
                                      .phase = lanes::Phase::kBackward,
                                      .from = line == 20 ? std::uint8_t{6} : std::uint8_t{15},
                                      .to = line == 20 ? std::uint8_t{15} : std::uint8_t{6}});
      for (int i = 0; i < 3; ++i) run.cast(gradient, kWeight);
    }
  });
  const std::string all = text(data), page = all.substr(all.find("costliest casts"));
  EXPECT_THAT(page, HasSubstr("\n  100 %  in backward\n         gradients of casts: 6 casts"));
}

TEST_F(CostliestTest, AGradientBelongsToTheCastWhoseGradientItIs) {
  const store::RunData data = recorded([](TestRun& run) {
    const auto weight = run.weight("train.py", 8, "fc");
    const auto user = run.site({.stack = run.line("train.py", 9, true),
                                .op = "aten::to",
                                .cause = lanes::Cause::kUserTo,
                                .phase = lanes::Phase::kForward,
                                .from = 15,
                                .to = 6});
    const auto gradient_of = [&](std::uint32_t forward) {
      return run.site({.stack = run.line("train.py", 20, true),
                       .forward_site = forward,
                       .op = "ToCopyBackward0",
                       .role = lanes::Role::kGradient,
                       .cause = lanes::Cause::kBackward,
                       .phase = lanes::Phase::kBackward,
                       .from = forward == user ? std::uint8_t{6} : std::uint8_t{15},
                       .to = forward == user ? std::uint8_t{15} : std::uint8_t{6}});
    };
    const auto of_weight = gradient_of(weight), of_user = gradient_of(user), of_gradient = gradient_of(of_user);
    run.cast(weight, kWeight, true).cast(user, 0).cast(user, 0);
    for (const auto gradient : {of_weight, of_weight, of_user, of_gradient}) run.cast(gradient, 0);
    run.cast(gradient_of(0), 0).cast(gradient_of(0), 0);
  });
  const std::string all = text(data), page = all.substr(all.find("costliest casts"));
  EXPECT_THAT(page,
              HasSubstr("train.py:8\n         linear weight of fc, float32 to bfloat16: 3 casts (2 in backward)"));
  EXPECT_THAT(page, HasSubstr("train.py:9\n         to(), bfloat16 to float32: 4 casts (2 in backward)"));
  EXPECT_THAT(page, Not(HasSubstr("train.py:20")));
  EXPECT_EQ(costliest(model_of(data)).all.size(), 3u) << "and gradients of what is not known";
}

TEST_F(CostliestTest, AConversionOfTheUsersIsACallInItsModule) {
  const store::RunData data = recorded([](TestRun& run) {
    store::SiteInfo info;
    info.stack = run.line("train.py", 8);
    info.module = run.module("blocks.1", "Block", 1);
    info.op = "aten::to";
    info.cause = lanes::Cause::kUserTo;
    info.phase = lanes::Phase::kForward;
    run.cast(run.site(info), 0);
  });
  EXPECT_THAT(text(data), HasSubstr("to() in blocks.1, "));
}

TEST_F(CostliestTest, ASiteKnowsItsFirstCast) {
  const store::RunData data = recorded([](TestRun& run) {
    const auto weight = run.weight("train.py", 8, "fc");
    run.cast(weight, kWeight, true, 1000, 700).cast(weight, kWeight, true, 1000, 50);
  });
  const Model model = model_of(data);
  EXPECT_EQ(model.sites.at(0).first_ns, 700u);
  EXPECT_EQ(model.sites.at(0).later_ns(), 50u);
}

}  // namespace
}  // namespace castscope::report
