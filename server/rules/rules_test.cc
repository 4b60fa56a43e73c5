// What holds for the rules together; each rule has its own test beside it.
#include "server/rules/rules_test.h"

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

}  // namespace
}  // namespace castscope::rules
