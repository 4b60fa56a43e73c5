// The fixture for tests of rules: a process acts and the rules judge it. expect_golden compares the findings of a case
// with tests/golden/findings/RULE_CASE.json; CASTSCOPE_UPDATE_GOLDEN=1 writes these files.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/rules/rules.h"
#include "server/store/testing/test_run.h"

namespace castscope::rules {

using lanes::FactKind;
using lanes::Role;
using lanes::WhyNotCached;
using store::kBFloat16;
using store::kFloat16;
using store::kFloat32;
using store::kInt64;
using store::operand;
using store::TestRun;

inline constexpr std::uint64_t kWeight = 0x7f0000001000, kOther = 0x7f0000002000;

class RulesTest : public ::testing::Test {
 protected:
  RulesTest();
  ~RulesTest() override;

  // Returns the findings about a process that does this; they must be the same during the run as after it.
  std::vector<Finding> judged(const std::function<void(TestRun&)>& act, bool ends = true);
  // Holds the evidence of these findings against the table of names; `judged` does so itself.
  static std::vector<Finding> held(std::vector<Finding> findings);
  static std::string as_json(const std::vector<Finding>& findings);
  static void expect_golden(const std::string& name, const std::vector<Finding>& findings);
  static void expect_none(const std::vector<Finding>& findings);
  // Expects no finding of this rule, where another rule is right to report one.
  static void expect_none_of(std::string_view rule, std::vector<Finding> findings);

  std::filesystem::path folder_;
};

}  // namespace castscope::rules
