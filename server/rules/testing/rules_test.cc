#include "server/rules/testing/rules_test.h"

#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "server/rules/judgement.h"
#include "server/rules/testing/evidence_keys.h"
#include "server/rules/testing/sees_test.h"
#include "server/store/read/run_reader.h"
#include "server/store/write/run_store.h"

namespace castscope::rules {
namespace {

// gtest owns it.
auto& g_evidence = static_cast<EvidenceKeys&>(*::testing::AddGlobalTestEnvironment(new EvidenceKeys("of_runs.json")));

}  // namespace

RulesTest::RulesTest() {
  std::string pattern = (std::filesystem::temp_directory_path() / "castscope-rules-XXXXXX").string();
  folder_ = mkdtemp(pattern.data());
}

RulesTest::~RulesTest() { std::filesystem::remove_all(folder_); }

std::vector<Finding> RulesTest::judged(const std::function<void(TestRun&)>& act, bool ends) {
  const std::string path = (folder_ / "run.castscope").string();
  store::RunStart start;
  start.cwd = "/home/user/project";
  auto store = store::RunStore::create(path, start, {.overwrite = true});
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
  hold_against_what_rules_say_they_see(*data, finished);
  return held(finished);
}

std::vector<Finding> RulesTest::held(std::vector<Finding> findings) {
  g_evidence.hold(findings);
  return findings;
}

std::string RulesTest::as_json(const std::vector<Finding>& findings) {
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

void RulesTest::expect_golden(const std::string& name, const std::vector<Finding>& findings) {
  const std::string path = std::string(CASTSCOPE_SOURCE_DIR) + "/tests/golden/findings/" + name + ".json";
  if (std::getenv("CASTSCOPE_UPDATE_GOLDEN")) std::ofstream(path) << as_json(findings);
  std::ifstream file(path);
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_FALSE(findings.empty());
  EXPECT_EQ(as_json(findings), golden.str()) << path;
}

void RulesTest::expect_none(const std::vector<Finding>& findings) { EXPECT_EQ(as_json(findings), "[]\n"); }

void RulesTest::expect_none_of(std::string_view rule, std::vector<Finding> findings) {
  std::erase_if(findings, [&](const Finding& finding) { return finding.rule != rule; });
  expect_none(findings);
}

}  // namespace castscope::rules
