// The fixture for tests of rules: a process acts and the rules judge it. expect_golden compares the findings of a case
// with tests/golden/findings/RULE_CASE.json; CASTSCOPE_UPDATE_GOLDEN=1 writes these files.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "server/rules/judgement.h"
#include "server/rules/rules.h"
#include "server/store/read/run_reader.h"
#include "server/store/testing/test_run.h"
#include "server/store/write/run_store.h"

namespace castscope::rules {

using lanes::FactKind;
using lanes::Role;
using lanes::WhyNotCached;
using store::kBFloat16;
using store::kFloat16;
using store::kFloat32;
using store::kInt64;
using store::operand;
using store::RunStore;
using store::TestRun;

inline constexpr std::uint64_t kWeight = 0x7f0000001000, kOther = 0x7f0000002000;

class RulesTest : public ::testing::Test {
 protected:
  RulesTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "castscope-rules-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~RulesTest() override { std::filesystem::remove_all(folder_); }

  // Returns the findings about a process that does this; they must be the same during the run as after it.
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
    EXPECT_TRUE((*store)->set_findings(judgement_of(*(*store)->read()).findings).ok());
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
  // Expects no finding of this rule, where another rule is right to report one.
  static void expect_none_of(std::string_view rule, std::vector<Finding> findings) {
    std::erase_if(findings, [&](const Finding& finding) { return finding.rule != rule; });
    expect_none(findings);
  }

  std::filesystem::path folder_;
};

}  // namespace castscope::rules
