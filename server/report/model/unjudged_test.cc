#include "server/report/model/unjudged.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace castscope::report {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(UnjudgedTest, RulesThatShareAReasonShareASentence) {
  const std::vector<rules::JudgedRule> rules = {
      {.judged = rules::Judged::kFull},
      {.judged = rules::Judged::kNot, .because = "nothing was looked at"},
      {.judged = rules::Judged::kPartly, .because = "2 events were dropped"},
      {.judged = rules::Judged::kNot, .because = "nothing was looked at"},
      {.judged = rules::Judged::kNot, .because = "castscope.json does not select it", .deselected = true}};
  EXPECT_THAT(unjudged_sentences(rules),
              ElementsAre("2 of 5 rules could not judge the run: nothing was looked at",
                          "1 of 5 rules could judge only part of the run: 2 events were dropped"));
}

TEST(UnjudgedTest, WhereEachCouldThereIsNothingToSay) {
  EXPECT_THAT(unjudged_sentences(std::vector<rules::JudgedRule>{{.judged = rules::Judged::kFull}}), IsEmpty());
}

}  // namespace
}  // namespace castscope::report
