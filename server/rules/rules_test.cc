// Each rule on the cases it is for, and on those it must leave alone. Numbers of cases (C-04, S-01, …) are those of
// the catalogue of autocast cases. What a positive case says is compared with tests/golden/findings/CASE.json;
// CASTSCOPE_UPDATE_GOLDEN=1 writes these files.
#include "server/rules/rules.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "server/store/test_run.h"

namespace castscope::rules {
namespace {

using lanes::WhyNotCached;
using store::RunStore;
using store::TestRun;

constexpr std::uint64_t kWeight = 0x7f0000001000, kOther = 0x7f0000002000;

class RulesTest : public ::testing::Test {
 protected:
  RulesTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "castscope-rules-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~RulesTest() override { std::filesystem::remove_all(folder_); }

  // What the rules say of a process that does this; the same during the run as afterwards.
  std::vector<Finding> judged(const std::function<void(TestRun&)>& act, bool ends = true) {
    const std::string path = (folder_ / "run.castscope").string();
    store::RunStart start;
    start.cwd = "/home/user/project";
    auto store = RunStore::create(path, start, {.overwrite = true});
    EXPECT_TRUE(store.ok()) << store.status().message();
    TestRun run(**store);
    act(run);
    ends ? run.end() : void(run.flush());
    const std::vector<Finding> live = judge(*(*store)->read());
    EXPECT_TRUE(record_findings(**store).ok());
    EXPECT_TRUE((*store)->close().ok());
    const auto data = store::read_run(path);
    EXPECT_TRUE(data.ok()) << data.status().message();
    const std::vector<Finding> finished = judge(*data);
    EXPECT_EQ(as_json(live), as_json(finished));
    return finished;
  }
  static std::string as_json(const std::vector<Finding>& findings) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Finding& f : findings) {
      nlohmann::ordered_json evidence;
      for (const auto& [name, number] : f.evidence_number) evidence[name] = number;
      for (const auto& [name, text] : f.evidence_text) evidence[name] = text;
      const store::CodeLocation at = f.location.value_or(store::CodeLocation());
      list.push_back({{"rule", f.rule},
                      {"severity", f.severity},
                      {"title", f.title},
                      {"location", at.file + ":" + std::to_string(at.line)},
                      {"evidence", evidence},
                      {"fix", f.fix}});
    }
    return list.dump(1) + "\n";
  }
  static void expect_golden(const std::string& name, const std::vector<Finding>& findings) {
    const std::string path = std::string(CASTSCOPE_SOURCE_DIR) + "/tests/golden/findings/" + name + ".json";
    if (std::getenv("CASTSCOPE_UPDATE_GOLDEN")) std::ofstream(path) << as_json(findings);
    std::ifstream file(path);
    std::stringstream golden;
    golden << file.rdbuf();
    EXPECT_FALSE(findings.empty());
    EXPECT_EQ(as_json(findings), golden.str()) << path;
  }
  static void expect_none(const std::vector<Finding>& findings) { EXPECT_EQ(as_json(findings), "[]\n"); }

  std::filesystem::path folder_;
};

// ---- weight-cast-repeatedly

TEST_F(RulesTest, C07_InferenceModeCastsWeightsAtEachUse) {
  expect_golden("C-07", judged([](TestRun& run) {
                  const auto region = run.region("generate.py", 5);
                  const auto weight = run.weight("generate.py", 8, "fc", WhyNotCached::kInferenceMode);
                  const auto input = run.input("generate.py", 8, "fc");
                  run.enter(region);
                  for (int i = 0; i < 2; ++i) run.cast(input, 0x10 + i).cast(weight, kWeight);
                  run.exit();
                }));
}

TEST_F(RulesTest, C07_NoGradKeepsThem) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("generate.py", 5);
    const auto weight = run.weight("generate.py", 8, "fc");
    const auto input = run.input("generate.py", 8, "fc");
    run.enter(region).cast(input, 0x10).cast(weight, kWeight, true).cast(input, 0x10).hit(weight, kWeight).exit();
  }));
}

TEST_F(RulesTest, C08_FrozenWeightsAtTwoLines) {
  expect_golden("C-08", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto first = run.weight("train.py", 8, "base", WhyNotCached::kNoRequiresGrad);
                  const auto second = run.weight("train.py", 9, "base", WhyNotCached::kNoRequiresGrad);
                  run.enter(region).cast(first, kWeight).cast(second, kWeight).exit();
                }));
}

TEST_F(RulesTest, C08_FrozenWeightsUsedOncePerRegion) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "base", WhyNotCached::kNoRequiresGrad);
    for (int i = 0; i < 50; ++i) run.step().enter(region).cast(weight, kWeight).exit();
  }));
}

TEST_F(RulesTest, AListOfFrozenWeightsEachUsedOnce) {
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

TEST_F(RulesTest, C09_ViewsAreNewTensorsAtEachUse) {
  expect_golden("C-09", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto weight = run.weight("train.py", 8, "", WhyNotCached::kView);
                  run.enter(region).cast(weight, kWeight).cast(weight, kOther).exit();
                }));
}

TEST_F(RulesTest, C09_DetachedWeightsTakeEachOthersAddresses) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "", WhyNotCached::kNoRequiresGrad);
    const auto other = run.weight("train.py", 8, "head", WhyNotCached::kNoRequiresGrad);
    run.enter(region).cast(weight, kWeight).cast(other, kOther).cast(weight, kOther).cast(other, kWeight).exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "weight-cast-repeatedly");
}

TEST_F(RulesTest, C09_TiedWeightUsedDirectlyIsKept) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "embedding");
    const auto head = run.weight("train.py", 9, "");
    run.enter(region).cast(weight, kWeight, true).hit(head, kWeight).exit();
  }));
}

TEST_F(RulesTest, S01_InputsAreNotWeights) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto input = run.input("train.py", 8, "fc");
    run.enter(region).cast(input, 0x10).cast(input, 0x10).exit();
  }));
}

TEST_F(RulesTest, S04_RecurrentCellsWithTheCacheOff) {
  expect_golden("S-04", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto ih = run.weight("train.py", 8, "cell", WhyNotCached::kCacheDisabled);
                  const auto hh = run.weight("train.py", 8, "cell.hh", WhyNotCached::kCacheDisabled);
                  run.enter(region);
                  for (int i = 0; i < 5; ++i) run.cast(ih, kWeight).cast(hh, kOther);
                  run.exit();
                }));
}

TEST_F(RulesTest, S04_RecurrentCellsWithTheCacheOn) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "cell");
    run.enter(region).cast(weight, kWeight, true);
    for (int i = 0; i < 4; ++i) run.hit(weight, kWeight);
    run.exit();
  }));
}

TEST_F(RulesTest, S05_SecondCallOfAnLstmHitsTheCache) {
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

TEST_F(RulesTest, S39_CastsMadeInPythonAreNeverKept) {
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

TEST_F(RulesTest, NestedRegionsAreOneStay) {
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

// ---- cache-grows

TEST_F(RulesTest, C04_ModulesMadeInOneLongRegion) {
  expect_golden("C-04", judged([](TestRun& run) {
                  const auto region = run.region("serve.py", 5);
                  const auto weight = run.weight("serve.py", 8, "");
                  const auto input = run.input("serve.py", 8, "");
                  run.enter(region);
                  for (int i = 0; i < 100; ++i) run.cast(input, 0x10).cast(weight, kWeight + i * 192, true, 2 << 20);
                  run.exit();
                }));
}

TEST_F(RulesTest, C04_SeenWhileTheRegionIsStillOpen) {
  const auto findings = judged(
      [](TestRun& run) {
        const auto region = run.region("serve.py", 5);
        const auto weight = run.weight("serve.py", 8, "");
        run.enter(region);
        for (int i = 0; i < 100; ++i) run.cast(weight, kWeight + i * 192, true);
      },
      /*ends=*/false);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "cache-grows");
}

TEST_F(RulesTest, C04_ARegionPerUse) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("serve.py", 5);
    const auto weight = run.weight("serve.py", 8, "");
    for (int i = 0; i < 100; ++i) run.step().enter(region).cast(weight, kWeight + i * 192, true).exit();
  }));
}

TEST_F(RulesTest, C04_ABigModelStopsGrowingAfterTheFirstPass) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    std::vector<std::uint32_t> layers;
    for (int i = 0; i < 100; ++i) layers.push_back(run.weight("train.py", 8, "layers." + std::to_string(i)));
    const auto listed = run.weight("train.py", 9, "");
    run.enter(region);
    for (int pass = 0; pass < 3; ++pass) {
      for (std::uint64_t i = 0; i < 100; ++i) {
        pass == 0 ? run.cast(layers[i], kWeight + i * 192, true) : run.hit(layers[i], kWeight + i * 192);
        pass == 0 ? run.cast(listed, kOther + i * 192, true) : run.hit(listed, kOther + i * 192);
      }
    }
    run.exit();
  }));
}

TEST_F(RulesTest, C04_AListOfWeightsThatComesBackInEachRegion) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto listed = run.weight("train.py", 8, "");
    for (int step = 0; step < 3; ++step) {
      run.step().enter(region);
      for (int i = 0; i < 40; ++i) run.cast(listed, kWeight + i * 192, true);
      run.exit();
    }
  }));
}

TEST_F(RulesTest, C06_ARolloutUnderNoGradGrowsOnce) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("rollout.py", 5);
    std::vector<std::uint32_t> layers;
    for (int i = 0; i < 20; ++i) layers.push_back(run.weight("rollout.py", 8, "layers." + std::to_string(i)));
    run.enter(region);
    for (int pass = 0; pass < 6; ++pass) {
      for (std::uint64_t i = 0; i < 20; ++i) {
        pass == 0 ? run.cast(layers[i], kWeight + i * 192, true) : run.hit(layers[i], kWeight + i * 192);
      }
    }
    run.exit();
  }));
}

TEST_F(RulesTest, S02_KeptInputsAreAnotherRulesAffair) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("attack.py", 5);
    const auto input = run.input("attack.py", 8, "fc");
    run.enter(region);
    for (int i = 0; i < 50; ++i) run.cast(input, kWeight + i * 192, true);
    run.exit();
  }));
}

// ---- cache-never-cleared

TEST_F(RulesTest, C05_ThreadsThatSwitchAutocastOnByTheRawSetter) {
  expect_golden("C-05", judged([](TestRun& run) {
                  run.region("worker.py", 5, TestRun::raw_region());
                  const auto weight = run.weight("worker.py", 8, "fc");
                  for (std::uint32_t lane = 2; lane <= 5; ++lane) run.lane(lane).cast(weight, kWeight + lane, true);
                }));
}

TEST_F(RulesTest, C05_AnotherThreadsClearComesTooLate) {
  const auto findings = judged([](TestRun& run) {
    run.region("worker.py", 5, TestRun::raw_region());
    const auto weight = run.weight("worker.py", 8, "fc");
    for (std::uint32_t lane = 2; lane <= 5; ++lane) run.lane(lane).cast(weight, kWeight + lane, true);
    run.lane(1).clear();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "cache-never-cleared");
}

TEST_F(RulesTest, C05_ThreadsWithTheContextManager) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("worker.py", 5);
    const auto weight = run.weight("worker.py", 8, "fc");
    for (std::uint32_t lane = 2; lane <= 5; ++lane) {
      run.lane(lane).enter(region).cast(weight, kWeight + lane, true).exit();
    }
  }));
}

TEST_F(RulesTest, S03_RawSwitchWithoutAClear) {
  const auto findings = judged([](TestRun& run) {
    run.region("train.py", 5, TestRun::raw_region());
    const auto weight = run.weight("train.py", 8, "fc");
    run.cast(weight, kWeight, true).hit(weight, kWeight).hit(weight, kWeight);
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].location->line, 5);
}

TEST_F(RulesTest, S03_ManualClearAfterEachStep) {
  expect_none(judged([](TestRun& run) {
    run.region("train.py", 5, TestRun::raw_region());
    const auto weight = run.weight("train.py", 8, "fc");
    for (int i = 0; i < 5; ++i) run.step().cast(weight, kWeight, true).hit(weight, kWeight).clear();
  }));
}

TEST_F(RulesTest, S03_NothingIsSaidBeforeAClearIsDue) {
  expect_none(judged(
      [](TestRun& run) {
        run.region("train.py", 5, TestRun::raw_region());
        run.step().cast(run.weight("train.py", 8, "fc"), kWeight, true);
      },
      /*ends=*/false));
}

// ---- all of them

TEST_F(RulesTest, NamesAreKnownWordsAndUnique) {
  std::vector<std::string_view> names;
  for (const Rule& rule : all_rules()) {
    EXPECT_FALSE(rule.summary.empty());
    EXPECT_TRUE(rule.severity == "error" || rule.severity == "warning" || rule.severity == "performance" ||
                rule.severity == "info");
    names.push_back(rule.name);
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST_F(RulesTest, AnEmptyRunHasNoFindings) {
  expect_none(judged([](TestRun&) {}));
}

}  // namespace
}  // namespace castscope::rules
