#include "server/store/run/completeness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace castscope::store {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CompletenessTest : public ::testing::Test {
 protected:
  CompletenessTest() { run_.end = RunEnd{.end_ns = 1, .exit_status = 0, .signal = {}, .complete = true}; }
  Process& add(ProcessEnd end, int exit_status = 0) {
    const auto pid = static_cast<std::int64_t>(run_.processes.size() + 1);
    Process& process = run_.processes.emplace_back();
    process.id = run_.processes.last();
    process.info.pid = pid;
    process.info.key = "host/" + std::to_string(pid) + "/1/0";
    process.end = end;
    process.ended = end != ProcessEnd::kNotSeen;
    process.exit_status = exit_status;
    return process;
  }
  void lane(Process& process, std::uint64_t written, std::uint64_t received, std::uint64_t dropped = 0) {
    LaneRow& row = process.lanes.emplace_back();
    row.written = written, row.received = received, row.dropped = dropped;
  }
  std::vector<std::string> sentences() const {
    std::vector<std::string> all;
    for (const Incomplete& one : what_is_missing(run_)) all.push_back(one.sentence);
    return all;
  }
  std::vector<IncompleteReason> reasons() const {
    std::vector<IncompleteReason> all;
    for (const Incomplete& one : what_is_missing(run_)) all.push_back(one.reason);
    return all;
  }

  RunData run_;
};

TEST_F(CompletenessTest, NothingIsMissingWhereAllEndsWereSeen) {
  lane(add(ProcessEnd::kExited), 50, 50);
  add(ProcessEnd::kReplaced);
  EXPECT_THAT(what_is_missing(run_), IsEmpty());
  EXPECT_TRUE(is_complete(run_));
}

TEST_F(CompletenessTest, ARunThatGoesOnIsNotComplete) {
  run_.end.reset();
  add(ProcessEnd::kNotSeen);
  EXPECT_THAT(reasons(), ElementsAre(IncompleteReason::kRunNotEnded));
  EXPECT_THAT(what_is_missing(run_)[0].sentence, HasSubstr("castscope recover"));
  run_.start.collected = true;
  EXPECT_THAT(what_is_missing(run_)[0].sentence, HasSubstr("castscope serve"));
}

TEST_F(CompletenessTest, SaysWhatOfTheEndWasNotSeen) {
  run_.end->complete = false;
  run_.notices = {"it was warm"};
  EXPECT_THAT(what_is_missing(run_)[0].sentence, HasSubstr("the notices say"));
  run_.end->unseen = "relay a did not say goodbye";
  EXPECT_THAT(what_is_missing(run_),
              ElementsAre(Incomplete{IncompleteReason::kRunEndNotSeen, "", "relay a did not say goodbye"}));
  add(ProcessEnd::kNotSeen);
  EXPECT_THAT(reasons(), ElementsAre(IncompleteReason::kProcessStillRan, IncompleteReason::kRunEndNotSeen));
}

TEST_F(CompletenessTest, SaysHowAProcessCameToItsEnd) {
  add(ProcessEnd::kVanished, 128 + 9);
  add(ProcessEnd::kVanished).attributes.emplace_back("rank", "1");
  add(ProcessEnd::kNotSeen);
  EXPECT_THAT(sentences(),
              ElementsAre("process 1 was killed by SIGKILL (the kernel does that when memory runs out)",
                          "process 2 (rank 1) is gone without an end mark: it was killed, or left by exec or a raw "
                          "system call",
                          "process 3 still ran when its record was closed: what it did after that is not in it"));
  EXPECT_EQ(what_is_missing(run_)[1].process, "host/2/1/0");
}

TEST_F(CompletenessTest, AnEndThatWasNotSeenIsSaidWhereNothingElseIsKnown) {
  run_.end->complete = false;
  EXPECT_THAT(sentences(), ElementsAre("the end of the run was not seen"));
  run_.notices.emplace_back("the disk was full");
  EXPECT_THAT(sentences(), ElementsAre("not all of the run was seen: the notices say what is missing"));
  add(ProcessEnd::kVanished, 128 + 15);
  EXPECT_THAT(sentences(), ElementsAre("process 1 was killed by SIGTERM"));
}

// What it says of its end is not taken from a process that was rejected: that it still ran would be a guess.
TEST_F(CompletenessTest, ARejectedProcessIsMissingAlsoWhereItWasNeverIntroduced) {
  add(ProcessEnd::kNotSeen);
  run_.incomplete = {{IncompleteReason::kProcessRejected, "host/1/1/0", "process host/1/1/0 sent junk"},
                     {IncompleteReason::kProcessRejected, "host/7/1/0", "process host/7/1/0 sent a batch too early"}};
  EXPECT_THAT(sentences(), ElementsAre("process host/1/1/0 sent junk", "process host/7/1/0 sent a batch too early"));
}

TEST_F(CompletenessTest, EventsThatNeverArrivedAreMissingOnceTheirProcessHasEnded) {
  Process& ended = add(ProcessEnd::kExited);
  lane(ended, 50, 0);
  lane(ended, 10, 10);
  Process& killed = add(ProcessEnd::kVanished, 128 + 9);
  lane(killed, 1, 0);
  EXPECT_THAT(what_is_missing(run_), ElementsAre(Field(&Incomplete::reason, IncompleteReason::kProcessVanished),
                                                 Incomplete{IncompleteReason::kEventsMissing, "host/1/1/0",
                                                            "of 60 events that process 1 published, 50 never arrived"},
                                                 Incomplete{IncompleteReason::kEventsMissing, "host/2/1/0",
                                                            "of 1 event that process 2 published, 1 never arrived"}));
}

TEST_F(CompletenessTest, EventsOnTheirWayAndDroppedOnesAreNotMissing) {
  lane(add(ProcessEnd::kExited), 50, 50, 1000);
  run_.end.reset();
  lane(add(ProcessEnd::kNotSeen), 50, 0);
  EXPECT_THAT(reasons(), ElementsAre(IncompleteReason::kRunNotEnded));
}

TEST_F(CompletenessTest, EventsThatTellMoreCastsThanWereCountedAreToldOnceTheirProcessHasEnded) {
  for (const std::uint64_t counted : {7u, 6u}) {
    Process& process = add(ProcessEnd::kExited);
    process.beyond_sites.casts = 2;
    run_.step_runs.push_back({.process = process.id, .casts = 3});
    run_.step_runs.push_back({.process = process.id, .first = 1, .last = 1, .casts = 4});
    run_.site_uses.push_back({.process = process.id, .counts = {.casts = counted - 2}, .evidence = {}});
  }
  EXPECT_THAT(what_is_missing(run_),
              ElementsAre(Incomplete{IncompleteReason::kCountsMissing, "host/2/1/0",
                                     "the events of process 2 tell of 7 casts, and it counted 6"}));
  run_.processes.back().ended = false;
  EXPECT_THAT(what_is_missing(run_), IsEmpty());
}

TEST_F(CompletenessTest, EventsThatTellMoreHitsOrBytesThanWereCountedAreToldToo) {
  Process& process = add(ProcessEnd::kExited);
  process.beyond_sites = {.hits = 1, .bytes = 100};
  run_.step_runs.push_back({.process = process.id, .hits = 1, .bytes = 100});
  EXPECT_THAT(what_is_missing(run_), IsEmpty());
  run_.step_runs.push_back({.process = process.id, .first = 1, .last = 1, .hits = 1, .bytes = 1});
  const std::vector<Incomplete> missing = what_is_missing(run_);
  ASSERT_EQ(missing.size(), 2u);
  EXPECT_EQ(missing[0].sentence, "the events of process 1 tell of 2 cache hits, and it counted 1");
  EXPECT_EQ(missing[1].sentence, "the events of process 1 tell of 101 bytes, and it counted 100");
}

TEST_F(CompletenessTest, DamageComesFirst) {
  run_.damage = Damage{.sentence = "the run file is cut short", .evidence = false};
  run_.end->complete = false;
  EXPECT_THAT(sentences(), ElementsAre("the run file is cut short"));
}

}  // namespace
}  // namespace castscope::store
