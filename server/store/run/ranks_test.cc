#include "server/store/run/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/store/run/completeness.h"

namespace castscope::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RanksTest : public ::testing::Test {
 protected:
  RanksTest() { run_.end = RunEnd{.end_ns = 1, .exit_status = 0, .signal = {}, .complete = true}; }
  void process(const std::string& rank) {
    Process& process = run_.processes.emplace_back();
    process.id = run_.processes.last();
    process.end = ProcessEnd::kExited, process.ended = true;
    if (!rank.empty()) process.attributes.emplace_back("rank", rank);
  }
  void expect(std::uint32_t expected, std::uint32_t seen) const {
    EXPECT_EQ(ranks_of(run_).expected, expected);
    EXPECT_EQ(ranks_of(run_).seen, seen);
  }

  RunData run_;
};

TEST_F(RanksTest, AJobWithoutALauncherHasNone) {
  process("");
  process("none");
  expect(0, 0);
  EXPECT_THAT(what_is_missing(run_), IsEmpty());
}

TEST_F(RanksTest, ARunWithoutAllItsRanksIsNotComplete) {
  run_.ranks = {.expected = 8, .seen = 7};
  process("0");
  process("0");
  expect(8, 7);
  EXPECT_THAT(what_is_missing(run_),
              ElementsAre(Incomplete{IncompleteReason::kRanksMissing, "", "7 of 8 ranks were seen"}));
  EXPECT_TRUE(leaves_casts_out(IncompleteReason::kRanksMissing));
  run_.ranks.seen = 8;
  EXPECT_THAT(what_is_missing(run_), IsEmpty());
}

TEST_F(RanksTest, RanksThatScriptsGiveCountToo) {
  for (const char* const rank : {"0", "1", "1", "2"}) process(rank);
  expect(3, 3);
  run_.ranks = {.expected = 4, .seen = 1};
  expect(4, 3);
}

}  // namespace
}  // namespace castscope::store
