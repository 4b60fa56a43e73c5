#include "server/ingest/validation/validator.h"

#include <google/protobuf/stubs/logging.h>

#include <random>

#include "server/ingest/validation/validator_test.h"

namespace castscope::ingest {
namespace {

using testing::IsEmpty;

TEST_F(ValidatorTest, IntroducesAProcessOnce) {
  accept(Batch().begin(42));
  accept(Batch().begin(42));
  EXPECT_EQ(sink_.only().introduced, 1);
  EXPECT_EQ(sink_.only().info.pid, 42);
  EXPECT_EQ(sink_.only().info.key, "host/1/1/0");
}

TEST_F(ValidatorTest, ResolvesTexts) {
  begun();
  accept(Batch()
             .text(1, "train.py")
             .text(2, "forward")
             .text(3, "bad \xff byte")
             .define(DefinitionKind::kCode, 7, lanes::CodeDefinition{1, 2, 10})
             .stack(5, {{7, 12}, {99, 1}})
             .define(DefinitionKind::kModule, 1, lanes::ModuleDefinition{3, 2, 0, 1})
             .define(DefinitionKind::kOperator, 4, lanes::OperatorDefinition{2})
             .define(DefinitionKind::kCallSite, 1, lanes::CallSiteDefinition{4, 0, 3, 0}));
  const store::StackInfo& stack = sink_.only().stacks.at(5);
  ASSERT_EQ(stack.frames.size(), 2u);
  EXPECT_EQ(stack.frames[0].file, "train.py");
  EXPECT_EQ(stack.frames[0].function, "forward");
  EXPECT_EQ(stack.frames[0].line, 12);
  EXPECT_EQ(stack.frames[1].file, "") << "a code object that was never defined is not known";
  EXPECT_EQ(sink_.only().modules.at(1).path, "bad \xef\xbf\xbd byte");
  EXPECT_EQ(sink_.only().call_sites.at(1).op, "forward");
}

TEST_F(ValidatorTest, TheLastCallSiteCounts) {
  begun();
  accept(Batch().define(DefinitionKind::kCallSite, 1, lanes::CallSiteDefinition{0, lanes::kUnknownArgument, 0, 0}));
  accept(Batch().define(DefinitionKind::kCallSite, 1, lanes::CallSiteDefinition{0, 2, 0, 0}));
  EXPECT_EQ(sink_.only().call_sites.at(1).argument, 2u);
}

TEST_F(ValidatorTest, DefinitionsToldAgainArePassedOver) {
  begun();
  for (int i = 0; i < 2; ++i)
    accept(Batch().begin().text(1, "k").text(2, "v").site(1).stack(1, {}).define(DefinitionKind::kAttribute, 0,
                                                                                 lanes::AttributeDefinition{1, 2}));
  EXPECT_EQ(sink_.definitions, 2);
  EXPECT_EQ(sink_.only().attributes.size(), 1u);
}

TEST_F(ValidatorTest, WhatRefersToNothingIsNotKnown) {
  begun();
  lanes::SiteDefinition nowhere{};
  nowhere.stack = nowhere.module = nowhere.call_site = nowhere.op = nowhere.region = 9;
  accept(Batch().site(1, nowhere));
  const store::SiteInfo& site = sink_.only().sites.at(1);
  EXPECT_EQ(site.stack + site.module + site.call_site + site.region, 0u);
  EXPECT_EQ(site.op, "");
}

TEST_F(ValidatorTest, TheCastWhoseGradientIsCastIsDefinedBefore) {
  begun();
  lanes::SiteDefinition gradient{};
  const auto define = [&](std::uint32_t id, std::uint32_t forward) {
    gradient.forward_site = forward;
    accept(Batch().site(id, gradient));
    return sink_.only().sites.at(id).forward_site;
  };
  EXPECT_EQ(define(1, 1), 0u) << "itself";
  EXPECT_EQ(define(2, 3), 0u) << "one that comes later";
  EXPECT_EQ(define(3, 2), 2u);
}

TEST_F(ValidatorTest, HandsEventsOnAsTheyWerePacked) {
  begun();
  const Batch batch = Batch().site(3).casts(1, 0, 5, 3).lane(1, 5);
  accept(batch);
  EXPECT_EQ(tensors(), (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(lane().packed, static_cast<const v1::Batch&>(batch).event_blocks(0).packed_events());
  EXPECT_EQ(lane().row.received, 5u);
  EXPECT_EQ(lane().row.next, 5u);
}

TEST_F(ValidatorTest, EventsToldAgainAreNotDoubled) {
  begun();
  accept(Batch().site(3).casts(1, 0, 5, 3));
  accept(Batch().casts(1, 0, 5, 3));
  accept(Batch().casts(1, 3, 5, 3));  // 3 and 4 are known, 5 to 7 are not
  EXPECT_EQ(tensors(), (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(lane().row.received, 8u);
  std::vector<lanes::Event> kept;
  ASSERT_TRUE(
      wire::unpack(lane().packed.substr(Batch().casts(1, 0, 5, 3).batch().event_blocks(0).packed_events().size()), 9,
                   &kept)
          .ok());
  EXPECT_EQ(kept.size(), 3u) << "what is stored holds no more than what was handed over";
}

TEST_F(ValidatorTest, EventsThatAnEarlierCollectorKeptAreNotDoubled) {
  sink_.earlier = {.received = 4, .next = 6};
  begun();
  accept(Batch().site(3).casts(1, 4, 4, 3));
  EXPECT_EQ(tensors(), (std::vector<std::uint64_t>{6, 7}));
  EXPECT_EQ(lane().row.received, 6u);
  EXPECT_EQ(lane().row.next, 8u);
}

// The file has them under their site: taken as counts of an unknown site they would be there twice.
TEST_F(ValidatorTest, CountsThatAnEarlierCollectorKeptComeWithTheirDefinitionsOrNotAtAll) {
  sink_.earlier_counters = {{1, 3}};
  begun();
  accept(Batch().site(3).counter(1, 3, 5).counter(1, 4, 2));
  EXPECT_EQ(casts(1, 3), 5u);
  EXPECT_EQ(casts(1, 0), 2u) << "the process had no room for the definition of 4";
  RunValidator again;
  const Verdict verdict = again.apply(Batch().begin().counter(1, 3, 5), sink_);
  EXPECT_THAT(
      std::string(verdict.rejected.message()),
      testing::HasSubstr("counters of number 3, which it did not define again after the collector was started"));
}

TEST_F(ValidatorTest, AGapInTheEventsShows) {
  begun();
  accept(Batch().site(3).casts(1, 0, 2, 3).casts(1, 10, 2, 3).lane(1, 12));
  EXPECT_EQ(lane().row.received, 4u);
  EXPECT_EQ(lane().row.written, 12u);
}

TEST_F(ValidatorTest, AnEventOfAnUnknownSiteKeepsItsPlace) {
  begun();
  accept(Batch().casts(1, 0, 3, 77));
  EXPECT_EQ(lane().events.at(1).site, 0u);
  std::vector<lanes::Event> kept;
  ASSERT_TRUE(wire::unpack(lane().packed, 3, &kept).ok());
  EXPECT_EQ(kept.at(1).site, 0u);
}

TEST_F(ValidatorTest, ThreadsWithoutALaneHaveCountsAndDroppedEvents) {
  begun();
  accept(Batch().site(1).counter(0, 0, 5).counter(0, 1, 2).lane(0, 0, 70));
  EXPECT_EQ(casts(0, 0), 5u);
  EXPECT_EQ(casts(0, 1), 2u);
  EXPECT_EQ(lane(0).row.dropped, 70u);
}

TEST_F(ValidatorTest, EventsBeyondSitesArePassedOn) {
  begun();
  accept(Batch().casts(1, 0, 3, 0).counter(1, 0, 3));
  EXPECT_EQ(lane().events.size(), 3u);
  EXPECT_EQ(casts(1, 0), 3u);
}

TEST_F(ValidatorTest, CountsNeverFall) {
  begun();
  accept(Batch().site(1).counter(1, 1, 10));
  accept(Batch().counter(1, 1, 7, 3));
  EXPECT_EQ(casts(1, 1), 10u);
  EXPECT_EQ((sink_.only().counters[{1, 1}].hits), 3u);
}

TEST_F(ValidatorTest, CountsOfUnknownSitesGoToTheLanesOverflow) {
  begun();
  accept(Batch().site(1).counter(1, 0, 5).counter(1, 1, 1).counter(1, 8, 20).counter(1, 9, 300));
  EXPECT_EQ(casts(1, 0), 325u);
  accept(Batch().site(8).counter(1, 8, 21).counter(1, 0, 6));  // too late: it goes on as it began
  EXPECT_EQ(casts(1, 0), 327u);
  EXPECT_FALSE((sink_.only().counters.contains({1, 8})));
}

TEST_F(ValidatorTest, EventsAfterTheEndAreNotTaken) {
  begun();
  accept(Batch().site(1).casts(1, 0, 2, 1).end(v1::PROCESS_END_KIND_NOT_SEEN, -1));
  accept(Batch().casts(1, 2, 1, 1).end(v1::PROCESS_END_KIND_EXITED, 0));
  accept(Batch().casts(1, 0, 3, 1));
  EXPECT_THAT(reject(Batch().casts(1, 3, 1, 1)), HasSubstr("sent events after its end"));
}

TEST_F(ValidatorTest, AfterTheEndANumberIsStillTheSameThings) {
  begun();
  accept(Batch().site(1).counter(1, 1, 10).end(v1::PROCESS_END_KIND_EXITED, 0));
  EXPECT_THAT(lose_part_of(Batch().operator_use(1).counter(2, 1, 5)),
              HasSubstr("two different definitions with the number 1"));
  EXPECT_TRUE(sink_.only().operator_uses.empty());
  EXPECT_EQ(casts(1, 1) + casts(2, 1), 15u);
}

TEST_F(ValidatorTest, TheEndIsToldOnceUnlessItChanges) {
  begun();
  for (int i = 0; i < 2; ++i) accept(Batch().end(v1::PROCESS_END_KIND_NOT_SEEN, -1));
  EXPECT_EQ(sink_.only().ends, 1);
  accept(Batch().end(v1::PROCESS_END_KIND_EXITED, 3));
  EXPECT_EQ(sink_.only().ends, 2);
  EXPECT_EQ(sink_.only().end, store::ProcessEnd::kExited);
  EXPECT_EQ(sink_.only().exit_status, 3);
}

TEST_F(ValidatorTest, AFailingSinkIsTheRunsMatter) {
  class FullDisk : public RecordingSink {
    absl::Status counters(const std::string&, std::span<const store::CounterRow>) override {
      return absl::ResourceExhaustedError("disk full");
    }
  } sink;
  const Verdict verdict = validator_.apply(Batch().begin().site(1).counter(1, 1, 1), sink);
  EXPECT_TRUE(verdict.rejected.ok());
  EXPECT_EQ(verdict.failed.message(), "disk full");
}

TEST_F(ValidatorTest, RefusesAProcessThatWasNotIntroduced) {
  EXPECT_THAT(reject(Batch().site(1)), HasSubstr("before it was introduced"));
}
TEST_F(ValidatorTest, RefusesAnotherProcessOfTheSameKey) {
  accept(Batch().begin(7));
  accept(Batch().begin(7));
  EXPECT_THAT(
      reject(Batch().begin(8)),
      HasSubstr("an introduction as process 8 of host \"host\" with start_ticks 0, though it is process 7 of host "
                "\"host\" with start_ticks 0: two processes cannot have one key"));
}

TEST_F(ValidatorTest, RefusesAStartThatIsNoTime) {
  Batch batch;
  batch.begin().batch().mutable_process_begin()->set_start_epoch_ns(-1);
  EXPECT_THAT(reject(batch), HasSubstr("a start of -1 ns since 1970"));
}

TEST_F(ValidatorTest, RefusesABatchOfNobody) { EXPECT_THAT(reject(Batch("").begin()), HasSubstr("without the name")); }

// A few hundred bytes must not become gigabytes: here every frame of a stack has the same long text.
TEST_F(ValidatorTest, RefusesAStackThatUnfoldsWithoutBounds) {
  begun();
  accept(Batch().text(1, std::string(60'000, 'x')).define(DefinitionKind::kCode, 1, lanes::CodeDefinition{1, 1, 1}));
  const Batch unfolds = Batch().stack(1, std::vector<lanes::Frame>(5000, {1, 1}));
  EXPECT_THAT(lose_part_of(unfolds), HasSubstr("megabytes of text"));
  EXPECT_THAT(sink_.only().stacks, IsEmpty());
}

// Good batches with overwritten bytes are accepted or rejected and never crash (run under ASan and UBSan too).
TEST_F(ValidatorTest, SurvivesDamage) {
  const google::protobuf::LogSilencer silence;
  std::mt19937_64 random(7);
  Batch source = Batch()
                     .begin()
                     .text(1, "a")
                     .text(2, "b")
                     .define(DefinitionKind::kCode, 1, lanes::CodeDefinition{1, 2, 3})
                     .stack(1, {{1, 2}, {1, 3}})
                     .define(DefinitionKind::kRegion, 1, lanes::RegionDefinition{})
                     .site(1)
                     .operator_use(2, {}, {{0, 6, lanes::Role::kInput, 0}})
                     .flow(3, {.from = 2, .to = 2, .argument = 0, .cast_to = 15, .reserved = {}})
                     .fact(4, {.kind = lanes::FactKind::kError, .detail = 1, .subject = 2, .stack = 1, .text = 1})
                     .casts(1, 0, 40, 1)
                     .counter(1, 1, 5)
                     .lane(1, 40)
                     .end(v1::PROCESS_END_KIND_EXITED, 0);
  const std::string good = source.batch().SerializeAsString();
  int taken = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = good;
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    v1::Batch batch;
    if (!batch.ParseFromString(bytes)) continue;
    RecordingSink sink;
    RunValidator validator;
    const Verdict verdict = validator.apply(batch, sink);
    ASSERT_TRUE(verdict.failed.ok());
    taken += verdict.ok() ? 1 : 0;
    for (const auto& [key, process] : sink.processes) {
      for (const auto& [id, use] : process.operator_uses) ASSERT_LE(use.operands.size(), lanes::kMostOperands);
      for (const auto& [id, site] : process.sites) ASSERT_TRUE(lanes::is_listed(site.cause));
    }
  }
  EXPECT_GT(taken, 0);
}

}  // namespace
}  // namespace castscope::ingest
