#include "server/report/forms/sites_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/report/forms/json.h"
#include "server/report/testing/test_report.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;
using lanes::WhyNotCached;
using store::TestRun;

class SitesJsonTest : public RecordedTest {};

// The stack of a site, each frame in words.
std::vector<std::string> frames_of(const Json& report, const Json& site) {
  std::vector<std::string> all;
  for (const Json& index : report["stacks"][site["stack_index"].get<std::size_t>()]["frame_indexes"]) {
    const Json& frame = report["frames"][index.get<std::size_t>()];
    all.push_back(frame["file"].get<std::string>() + ":" + std::to_string(frame["line"].get<int>()));
  }
  return all;
}

TEST_F(SitesJsonTest, TheLineOfASiteIsTheInnermostOfTheUsersOwn) {
  const store::RunData data = recorded([](TestRun& run) {
    run.cast(run.weight("train.py", 8, "fc"), 0x100).cast(run.weight("train.py", 9, "head"), 0x200);
  });
  const Json report = to_json(data);
  ASSERT_EQ(report["sites"].size(), 2u);
  const Json& site = report["sites"][0];
  EXPECT_EQ(frames_of(report, site)[0], "site-packages/torch/nn/modules/linear.py:134");
  const Json& stack = report["stacks"][site["stack_index"].get<std::size_t>()];
  EXPECT_EQ(report["frames"][stack["frame_index"].get<std::size_t>()],
            (Json{{"file", "train.py"}, {"line", 8}, {"function", "train"}}));
}

TEST_F(SitesJsonTest, WhatManySitesHaveStandsOnce) {
  const store::RunData data = recorded([](TestRun& run) {
    run.cast(run.weight("train.py", 8, "fc"), 0x100).cast(run.input("train.py", 8, "fc"), 0x200);
  });
  const Json report = to_json(data);
  ASSERT_EQ(report["sites"].size(), 2u);
  EXPECT_EQ(report["sites"][0]["module_index"], report["sites"][1]["module_index"]);
  EXPECT_EQ(report["modules"].size(), 1u);
  EXPECT_EQ(report["call_sites"].size(), 2u);
  const Json& frames = report["frames"];
  for (std::size_t i = 0; i < frames.size(); ++i)
    for (std::size_t j = i + 1; j < frames.size(); ++j) EXPECT_NE(frames[i], frames[j]);
}

TEST_F(SitesJsonTest, AMemberThatHasItsDefaultIsLeftOut) {
  const store::RunData data =
      recorded([](TestRun& run) { run.cast(run.weight("train.py", 8, "fc"), 0x100, true, 0, 0); });
  const Json site = to_json(data)["sites"][0];
  EXPECT_EQ(site["casts"], 1);
  for (const char* key : {"bytes", "cpu_ns", "first_cpu_ns", "cache_hits", "gpu_ns", "compiled", "by_process"})
    EXPECT_FALSE(site.contains(key)) << key;
  EXPECT_EQ(site["kept"], 1);
}

TEST_F(SitesJsonTest, TheOrderIsThatOfTheCode) {
  const auto lines = [this](bool backwards) {
    const store::RunData data = recorded([&](TestRun& run) {
      if (backwards) {
        run.cast(run.weight("train.py", 9, "b", WhyNotCached::kNoRequiresGrad), 0x200);
        run.cast(run.weight("train.py", 8, "a", WhyNotCached::kNoRequiresGrad), 0x100);
      } else {
        run.cast(run.weight("train.py", 8, "a", WhyNotCached::kNoRequiresGrad), 0x100);
        run.cast(run.weight("train.py", 9, "b", WhyNotCached::kNoRequiresGrad), 0x200);
      }
    });
    Json sites = to_json(data)["sites"];
    for (Json& site : sites) site.erase("site");
    return sites;
  };
  EXPECT_EQ(lines(true), lines(false));
}

}  // namespace
}  // namespace castscope::report
