// Tests how the report and the converted events show deep steps, and regions that are not what the code asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "server/report/forms/json.h"
#include "server/report/model/model.h"
#include "server/report/timelines/json_lines.h"
#include "server/store/read/run_reader.h"
#include "server/store/testing/test_run.h"
#include "server/store/write/run_store.h"

namespace castscope::report {
namespace {

using lanes::FactKind;
using store::kBFloat16;
using store::kFloat32;
using store::operand;
using store::RunStore;
using store::TestRun;

class DeepReportTest : public ::testing::Test {
 protected:
  DeepReportTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "castscope-deep-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    store_ = *RunStore::create(path(), {.run_id = "run-1",
                                        .command = {"python"},
                                        .cwd = "/",
                                        .host = "host",
                                        .castscope_version = "0.1.0",
                                        .start_ns = 1'795'000'000'000'000'000});
  }
  ~DeepReportTest() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return (folder_ / "run.castscope").string(); }
  nlohmann::ordered_json report() {
    EXPECT_TRUE(store_->close().ok());
    const auto data = store::read_run(path());
    EXPECT_TRUE(data.ok()) << data.status().message();
    return to_json(*data);
  }
  std::vector<nlohmann::json> events() {
    EXPECT_TRUE(store_->close().ok());
    std::ostringstream out;
    const absl::Status status = json_lines(path(), out);
    EXPECT_TRUE(status.ok()) << status.message();
    std::istringstream lines(out.str());
    std::vector<nlohmann::json> all;
    for (std::string line; std::getline(lines, line);) {
      all.push_back(nlohmann::json::parse(line));
      for (const char* key : {"process", "pid", "lane", "time_ns", "step"})
        all.back().erase(key);  // which all events have
      if (all.back().contains("file")) all.back()["file"] = all.back()["file"].get<std::string>().substr(19);
    }
    return all;
  }

  std::filesystem::path folder_;
  std::unique_ptr<RunStore> store_;
};

TEST_F(DeepReportTest, TellsHowMuchWasLookedAtAndAddsNoneOfItToTheCounts) {
  for (const std::int64_t pid : {100, 101}) {
    TestRun run(*store_, pid);
    const auto weight = run.weight("train.py", 8, "fc");
    const auto use = run.use({.op = "aten::mm"});
    run.step().deep().cast(weight, 0x10).called(use, 40).flowed(run.flow(use, use), 9).shallow();
    run.seen(run.error(3, "no"), 5);
    run.end();
  }
  const auto json = report();
  EXPECT_EQ(json["processes"][1]["deep_steps"], 1);
  EXPECT_EQ(json["coverage"]["deep_steps"], 2);
  EXPECT_EQ(json["totals"]["casts"], 2);
  EXPECT_EQ(json["processes"][1]["deep_operators"], 40);
  EXPECT_EQ(json["processes"][1]["deep_ns"], 4000);
  EXPECT_EQ(json["coverage"]["deep_operators"], 80);
  EXPECT_EQ(json["coverage"]["deep_ns"], 8000);
  EXPECT_EQ(json["totals"]["by_cause"].size(), 1u);
  EXPECT_EQ(json["totals"]["beyond_sites"]["casts"], 0);
  EXPECT_EQ(json["processes"][0]["casts"], 1);
  EXPECT_EQ(json["sites"].size(), 1u);
  EXPECT_EQ(json["pass_through_places"].size(), 0u);
}

TEST_F(DeepReportTest, ARegionSaysWhatTheCodeAskedFor) {
  TestRun run(*store_);
  store::RegionInfo region = TestRun::default_region();
  run.region("train.py", 1, region);
  region.enabled = false;
  run.region("train.py", 2, region);
  region.flags = lanes::kRegionAskedEnabled | lanes::kRegionNoDevice | lanes::kRegionDefaultDtype;
  run.region("train.py", 3, region);
  run.end();
  std::string got;
  const auto json = report();
  for (const auto& told : json["regions"])
    for (const char* key : {"enabled", "asked_enabled", "dtype_by_default"}) got += told[key].get<bool>() ? "y" : "n";
  EXPECT_EQ(got,
            "yyn"
            "nnn"
            "nyy");
}

TEST_F(DeepReportTest, EventsOfDeepStepsBecomeLines) {
  TestRun run(*store_);
  const auto input = run.input("train.py", 8, "fc");
  const auto mm = run.use({.op = "aten::mm",
                           .line = 9,
                           .operands = {operand(kBFloat16), operand(kBFloat16)},
                           .phase = lanes::Phase::kBackward,
                           .node = "MmBackward0"});
  run.deep();
  run.values(input, {.most = 70'000.5, .sampled = 200, .not_finite = 1, .zeros = 2, .integers = 3, .beyond = 4});
  run.values(mm, {.most = 2}).shallow();
  run.end();
  const nlohmann::json on = {{"event_kind", "deep"}, {"deep_on", true}},
                       off = {{"event_kind", "deep"}, {"deep_on", false}};
  const nlohmann::json of_input = {{"event_kind", "values"},
                                   {"largest", 70'000.5},
                                   {"tensor_elements", 200},
                                   {"sampled_elements", 200},
                                   {"not_finite", 1},
                                   {"zeros", 2},
                                   {"integers", 3},
                                   {"beyond_range", 4},
                                   {"site", 1},
                                   {"file", "train.py"},
                                   {"line", 8},
                                   {"module", "fc"},
                                   {"operator", "aten::linear"},
                                   {"argument", "input"},
                                   {"from_dtype", "float32"},
                                   {"to_dtype", "bfloat16"},
                                   {"cause", "autocast"}};
  const nlohmann::json of_mm = {{"event_kind", "values"},  {"largest", 2.0},      {"tensor_elements", 256},
                                {"sampled_elements", 256}, {"not_finite", 0},     {"zeros", 0},
                                {"integers", 0},           {"beyond_range", 0},   {"operator_use", 1},
                                {"file", "train.py"},      {"line", 9},           {"operator", "aten::mm"},
                                {"node", "MmBackward0"},   {"phase", "backward"}, {"result_dtype", "bfloat16"}};
  EXPECT_THAT(events(), testing::ElementsAre(on, of_input, of_mm, off));
}

TEST_F(DeepReportTest, OperatorsAndWhatPassesThroughBecomeLines) {
  TestRun run(*store_);
  const auto input = run.input("train.py", 8, "fc");
  const auto linear = run.use({.op = "aten::linear", .line = 8, .operands = {operand(kBFloat16)}});
  run.pass_with_event(input).called_with_event(linear, 700, 2, 4096);
  run.end();
  const auto told = events();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0]["event_kind"], "pass_through");
  EXPECT_EQ(told[0]["operator"], "aten::linear");
  EXPECT_EQ(told[0]["argument"], "input");
  EXPECT_EQ(told[1], (nlohmann::json{{"event_kind", "operator"},
                                     {"duration_ns", 700},
                                     {"result_bytes", 4096},
                                     {"operator_depth", 2},
                                     {"operator_use", 1},
                                     {"file", "train.py"},
                                     {"line", 8},
                                     {"operator", "aten::linear"},
                                     {"phase", told[1]["phase"]},
                                     {"result_dtype", told[1]["result_dtype"]}}));
}

TEST_F(DeepReportTest, EventsOfScalingBecomeLines) {
  TestRun run(*store_);
  run.backward(run.fact(FactKind::kBackward, 10));
  run.unscale(run.fact(FactKind::kUnscale, 11, {.detail = 1, .text = ""}));
  run.update(run.fact(FactKind::kUpdate, 12), 65536, 32768);
  run.optimizer(run.fact(FactKind::kOptimizerStep, 13, {.detail = 1, .text = "Adam"})).optimizer();
  run.end();
  const auto said = [](const char* event, const char* fact, int line, nlohmann::json more) {
    more.update({{"event_kind", event}, {"fact_kind", fact}, {"file", "train.py"}, {"line", line}});
    return more;
  };
  EXPECT_THAT(events(),
              testing::ElementsAre(
                  said("backward", "backward", 10, nlohmann::json::object()),
                  said("scaler", "unscale", 11, {{"gradients_finite", false}}),
                  said("scaler", "update", 12, {{"scale_before", 65536.0}, {"scale_after", 32768.0}}),
                  said("optimizer_step", "optimizer_step", 13, {{"within_scaler", true}, {"fact_text", "Adam"}}),
                  nlohmann::json{{"event_kind", "optimizer_step"}}));
}

TEST_F(DeepReportTest, ALineThatRanInSeveralModesHasARow) {
  TestRun run(*store_);
  const auto use = [&](std::string op, std::int64_t line, std::uint8_t dtype, std::uint16_t flags = 0) {
    return run.use({.op = std::move(op), .line = line, .operands = {operand(dtype)}, .flags = flags});
  };
  run.enter(run.region("train.py", 5)).deep();
  run.called(use("aten::linear", 8, kBFloat16)).called(use("aten::addmm", 8, kFloat32, lanes::kUseCompiled));
  run.called(use("aten::layer_norm", 9, kBFloat16))
      .called(use("aten::native_layer_norm", 9, kBFloat16, lanes::kUseScript));
  run.called(use("aten::gelu", 10, kBFloat16));  // in one mode only
  run.shallow().exit().end();
  const auto modes = report()["operators_by_mode"];
  ASSERT_EQ(modes.size(), 2u);
  EXPECT_EQ(modes[0]["shared_operator"], "linear");
  EXPECT_EQ(modes[0]["dtypes_by_mode"],
            nlohmann::ordered_json::parse(R"({"eager": ["bfloat16"], "compile": ["float32"]})"));
  EXPECT_EQ(modes[0]["differs"], true);
  EXPECT_EQ(modes[1]["dtypes_by_mode"],
            nlohmann::ordered_json::parse(R"({"eager": ["bfloat16"], "script": ["bfloat16"]})"));
  EXPECT_EQ(modes[1]["differs"], false);
}

// Of a run without casts the headline is this line.
TEST_F(DeepReportTest, DeepAlwaysIsAdvisedOnlyWhereTheRunWasKnownToBeWithoutIt) {
  const auto advises = [](const store::RunData& run) {
    return totals_line(model_of(run)).find("--deep always") != std::string::npos;
  };
  store::RunData run;
  run.end.emplace().complete = true;
  EXPECT_TRUE(advises(run));
  run.start.deep = "always";
  EXPECT_FALSE(advises(run));
  run.start.deep = "";
  run.start.collected = true;
  EXPECT_FALSE(advises(run)) << "nobody told the collector";
}

}  // namespace
}  // namespace castscope::report
