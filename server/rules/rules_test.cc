// Tests properties of the rules together; each rule has its own test beside it.
#include "server/rules/testing/rules_test.h"

#include <algorithm>

namespace castscope::rules {
namespace {

TEST_F(RulesTest, NamesAreKnownWordsAndUnique) {
  std::vector<std::string_view> names;
  for (const Rule* const listed : all_rules()) {
    const Rule& rule = *listed;
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

TEST_F(RulesTest, WhatIsInAPackageNamesTheLineThatCallsIt) {
  const auto findings = judged([](TestRun& run) {
    const auto stack = run.stack({{"/venv/lib/python3.11/site-packages/library/model.py", "Model.forward", 93},
                                  TestRun::torch_frame("nn/modules/module.py", "Module._call_impl"),
                                  TestRun::own_frame("train", 12),
                                  TestRun::own_frame("<module>", 40)});
    const auto region = run.region("train.py", 5);
    const auto use = run.use({.op = "aten::mm.out",
                              .operands = {operand(kFloat32), operand(kFloat32), operand(kFloat32)},
                              .flags = lanes::kUseSiblingEligible | lanes::kUseWrites,
                              .stack = stack});
    run.enter(region).deep().called(use).exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].location->line, 93);
  ASSERT_EQ(findings[0].related.size(), 1u);
  EXPECT_EQ(findings[0].related[0].line, 12);
}

TEST_F(RulesTest, TheFixInALibraryNamesItsOwnSwitch) {
  for (const auto& [package, named] : {std::pair{"peft", true}, {"library", false}, {"peft_extra", false}}) {
    const auto findings = judged([&, package = package](TestRun& run) {
      const auto stack =
          run.stack({{std::string("/venv/lib/python3.11/site-packages/") + package + "/layer.py", "f", 9},
                     TestRun::own_frame("train", 12)});
      const auto region = run.region("train.py", 5);
      const auto use = run.use({.op = "aten::mm.out",
                                .operands = {operand(kFloat32), operand(kFloat32), operand(kFloat32)},
                                .flags = lanes::kUseSiblingEligible | lanes::kUseWrites,
                                .stack = stack});
      run.enter(region).deep().called(use).exit();
    });
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].fix.find("disable_input_dtype_casting") != std::string::npos, named) << package;
  }
}

}  // namespace
}  // namespace castscope::rules
