#include "server/cli/agents/self_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace castscope::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// A report with what the self-test casts, by the lines of its script.
json report() {
  json report = {{"sites", json::array()}, {"stacks", json::array()}, {"frames", json::array()}};
  const auto add = [&](int line, const char* to, int casts, int hits) {
    report["frames"].push_back({{"file", "torch/nn/functional.py"}, {"line", 900}});
    report["frames"].push_back({{"file", "/tmp/x/castscope_self_test.py"}, {"line", line}});
    const std::size_t last = report["frames"].size() - 1;
    report["stacks"].push_back({{"frame_indexes", {last - 1, last}}});
    report["sites"].push_back(
        {{"stack_index", report["stacks"].size() - 1}, {"to_dtype", to}, {"casts", casts}, {"cache_hits", hits}});
  };
  add(6, "bfloat16", 3, 0);
  add(6, "bfloat16", 1, 2);
  add(7, "float64", 1, 0);
  add(8, "bfloat16", 1, 0);
  add(8, "bfloat16", 0, 1);
  add(10, "bfloat16", 2, 0);
  return report;
}

TEST(SelfTest, WhatIsSeenAsItIsMadePasses) { EXPECT_EQ(difference_in(report().dump()), ""); }

TEST(SelfTest, ACastTooFewIsNamedWithItsLine) {
  json one = report();
  one["sites"][1]["casts"] = 0;
  EXPECT_EQ(
      difference_in(one.dump()),
      "line 6 of the self-test made 4 casts and 2 cache hits to bfloat16, and 3 casts and 2 cache hits were seen");
}

TEST(SelfTest, AHitThatWasNotSeenFails) {
  json one = report();
  one["sites"].erase(4);
  EXPECT_THAT(difference_in(one.dump()), HasSubstr("line 8"));
}

TEST(SelfTest, ACastThatNobodyMadeFails) {
  json one = report();
  one["sites"].push_back({{"stack_index", 0}, {"to_dtype", "float16"}, {"casts", 1}, {"cache_hits", 0}});
  EXPECT_THAT(difference_in(one.dump()), HasSubstr("made no casts to float16"));
}

TEST(SelfTest, AnotherLineFails) {
  json one = report();
  one["frames"][5]["line"] = 9;
  EXPECT_THAT(difference_in(one.dump()), HasSubstr("line 7"));
}

// The agent reads no lines of a Python that it does not know. Counts are right all the same.
TEST(SelfTest, WithoutLinesTheSumsCount) {
  json one = report();
  one["frames"] = json::array();
  EXPECT_EQ(difference_in(one.dump()), "");
  one["sites"][0]["casts"] = 4;
  EXPECT_THAT(difference_in(one.dump()), HasSubstr("7 casts and 3 cache hits to bfloat16 were made"));
}

TEST(SelfTest, WhereNothingIsSeenTheReasonIsTold) {
  json one = report();
  one["sites"] = json::array();
  EXPECT_EQ(difference_in(one.dump()), "nothing was seen");
  one["run"]["notices"] = {"the agent cannot be loaded"};
  EXPECT_EQ(difference_in(one.dump()), "nothing was seen: the agent cannot be loaded");
}

TEST(SelfTest, WhatIsNoReportFails) {
  for (const char* text : {"", "{}", "[]", "{\"sites\": []}"})
    EXPECT_EQ(difference_in(text), "there is no report of it");
}

}  // namespace
}  // namespace castscope::cli
