// Holds the evidence that findings give against docs/names.json, and against the golden list of what each rule gives
// (tests/golden/evidence), of which docs/rules.md is made. A test's program has one `EvidenceKeys`; when it runs all of
// its tests with CASTSCOPE_UPDATE_GOLDEN=1, it writes its list.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "server/rules/evidence/finding.h"

namespace castscope::rules {

class EvidenceKeys : public ::testing::Environment {
 public:
  // `list` is the file in tests/golden/evidence.
  explicit EvidenceKeys(const std::string& list) : path_(in_tree("tests/golden/evidence/" + list)) {
    for (const nlohmann::json& name : parsed(in_tree("docs/names.json"))) table_[name["name"]] = name;
    const nlohmann::json listed = parsed(path_);
    for (const auto& [rule, keys] : listed.items()) listed_[rule] = keys.get<std::set<std::string>>();
  }

  // Expects that each key of a finding is in the table, with a value as the table has it, and in the rule's list.
  void hold(const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) {
      std::set<std::string>& given = given_[finding.rule];
      std::set<std::string> of_finding;
      const auto take = [&](const std::string& key, const std::string* text) {
        given.insert(key);
        EXPECT_TRUE(of_finding.insert(key).second) << finding.rule << " gives " << key << " twice";
        EXPECT_TRUE(updates() || listed_[finding.rule].contains(key))
            << finding.rule << " gives " << key << ", which " << path_ << " does not have";
        hold_value(finding.rule + " gives " + key, key, text);
      };
      for (const auto& [key, text] : finding.evidence_text) take(key, &text);
      for (const auto& [key, number] : finding.evidence_number) take(key, nullptr);
    }
  }

  void TearDown() override {
    const auto& tests = *::testing::UnitTest::GetInstance();
    if (tests.test_to_run_count() != tests.total_test_count()) return;
    if (updates())
      std::ofstream(path_) << nlohmann::json(given_).dump(1) << "\n";
    else
      EXPECT_EQ(given_, listed_) << path_ << " lists what no test has seen";
  }

 private:
  static std::string in_tree(const std::string& path) { return std::string(CASTSCOPE_SOURCE_DIR) + "/" + path; }
  static nlohmann::json parsed(const std::string& path) {
    std::ifstream file(path);
    return file ? nlohmann::json::parse(file) : nlohmann::json::object();
  }
  static bool updates() { return std::getenv("CASTSCOPE_UPDATE_GOLDEN") != nullptr; }

  // A number has no text.
  void hold_value(const std::string& what, const std::string& key, const std::string* text) const {
    const auto entry = table_.find(key);
    ASSERT_NE(entry, table_.end()) << what << ", which docs/names.json does not have";
    static const std::set<std::string> kNumbers = {"number", "bytes", "ns", "percent"};
    EXPECT_EQ(kNumbers.contains(entry->second["unit"].get<std::string>()), text == nullptr)
        << what << " in another unit";
    if (text == nullptr || !entry->second.contains("values")) return;
    const auto words = entry->second["values"].get<std::set<std::string>>();
    for (const std::string& word : std::vector<std::string>(absl::StrSplit(*text, ", ")))
      EXPECT_TRUE(words.contains(word)) << what << ": " << word << " is no word of its list";
  }

  const std::string path_;
  std::map<std::string, nlohmann::json> table_;          // docs/names.json, by name
  std::map<std::string, std::set<std::string>> listed_;  // by rule
  std::map<std::string, std::set<std::string>> given_;   // by rule
};

}  // namespace castscope::rules
