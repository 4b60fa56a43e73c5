// Batches that make no sense: what comes out of a process's damaged memory costs itself, anything else the process.
#include "proto/protocol.h"
#include "server/ingest/validation/validator_test.h"

namespace castscope::ingest {
namespace {

using testing::IsEmpty;

TEST_F(ValidatorTest, OfADamagedBlockTheEventsAreMissingAndLaterOnesAreTaken) {
  begun();
  accept(Batch().site(1).casts(1, 0, 2, 1));
  Batch damaged;
  damaged.casts(1, 2, 5, 1).batch().mutable_event_blocks(0)->mutable_packed_events()->back() ^= 1;
  const std::string told = lose_part_of(damaged.casts(1, 7, 3, 1).counter(1, 1, 10));
  EXPECT_THAT(told, testing::StartsWith("process host/1/1/0 sent damaged event block: "));
  EXPECT_THAT(told, testing::EndsWith("; its counts were taken, and not all of its events"));
  EXPECT_EQ(tensors(), (std::vector<std::uint64_t>{0, 1, 7, 8, 9}));
  EXPECT_EQ(lane().row.received, 5u);
  EXPECT_EQ(lane().row.written, 10u);
  EXPECT_EQ(casts(1, 1), 10u);
  accept(damaged);
  EXPECT_EQ(lane().row.received, 5u) << "sent again";
}

TEST_F(ValidatorTest, ADefinitionThatMakesNoSenseCostsNoOther) {
  begun();
  lose_part_of(
      Batch().site(1).raw(DefinitionKind::kSite, 2, "abc").site(3).counter(1, 1, 4).counter(1, 2, 30).counter(1, 3, 5));
  EXPECT_EQ(sink_.only().sites.size(), 2u);
  EXPECT_EQ(casts(1, 1), 4u);
  EXPECT_EQ(casts(1, 3), 5u);
}

TEST_F(ValidatorTest, WhatIsNoSiteByItsDamagedDefinitionCountsAsNoCast) {
  begun();
  lose_part_of(Batch()
                   .raw(DefinitionKind::kSite, 2, "abc")
                   .raw(DefinitionKind::kFact, 3, "abc")
                   .counter(1, 2, 30)
                   .counter(1, 3, 200));
  EXPECT_EQ(casts(1, 0), 30u);
}

TEST_F(ValidatorTest, ACounterOfAnImpossibleNumberIsCountedWithoutAPlace) {
  begun();
  EXPECT_THAT(lose_part_of(Batch().site(1).counter(1, 1, 2).counter(1, kLargestDefinitionId + 1, 7)),
              HasSubstr("a counter of the impossible site 4194305"));
  EXPECT_EQ(casts(1, 1), 2u);
  EXPECT_EQ(casts(1, 0), 7u);
}

// A hundred bytes may be a block of 65,536 events.
TEST_F(ValidatorTest, ABatchHasSoManyEventsAndOneThatSaysMoreCostsNoCount) {
  begun();
  constexpr std::uint32_t kBlock = wire::kMostEventsInMessageBlock, kBlocks = wire::kMostEventsInBatch / kBlock;
  std::vector<lanes::Event> events(kBlock);
  for (lanes::Event& event : events) event.kind = lanes::EventKind::kStep;
  Batch many;
  for (std::uint32_t i = 0; i < kBlocks; ++i) many.events(1, std::uint64_t{i} * kBlock, events);
  accept(many);
  EXPECT_EQ(lane().row.received, wire::kMostEventsInBatch);
  EXPECT_THAT(sink_.missing, IsEmpty());
  Batch more = many;  // what is known already is passed over
  for (std::uint32_t i = 0; i <= kBlocks; ++i) more.events(2, std::uint64_t{i} * kBlock, events);
  EXPECT_EQ(lose_part_of(more.casts(3, 0, 5, 0).counter(1, 0, 7)),
            "process host/1/1/0 sent more than 1048576 events in a batch; its counts were taken, and not all of its "
            "events");
  EXPECT_EQ(lane(2).row.received, wire::kMostEventsInBatch);
  EXPECT_EQ(lane(2).row.written, wire::kMostEventsInBatch + kBlock);
  EXPECT_EQ(lane(3).row.received, 0u);
  EXPECT_EQ(casts(1, 0), 7u);
  accept(Batch().casts(3, 5, 5, 0));
  EXPECT_EQ(lane(3).row.received, 5u) << "the next batch is taken";
}

struct MalformedBatch {
  const char* name;
  BatchBuilder batch;
  const char* why;
};
class MalformedBatchTest : public ValidatorTest, public testing::WithParamInterface<MalformedBatch> {};

TEST_P(MalformedBatchTest, SilencesTheProcessAndOnlyThat) {
  begun();
  EXPECT_THAT(reject(GetParam().batch), HasSubstr(GetParam().why));
  accept(Batch().site(1).counter(1, 1, 5));
  EXPECT_THAT(sink_.only().counters, IsEmpty()) << "nothing more is taken from it";
  accept(Batch("host/2/1/0").begin().site(1).counter(1, 1, 5));
  EXPECT_EQ((sink_.processes["host/2/1/0"].counters[{1, 1}].casts), 5u);
}

// Events and definitions come out of a process's memory, and its counts do not depend on them.
class DamagedPartTest : public ValidatorTest, public testing::WithParamInterface<MalformedBatch> {};

TEST_P(DamagedPartTest, CostsItselfAndNoCount) {
  begun();
  EXPECT_THAT(lose_part_of(GetParam().batch), HasSubstr(GetParam().why));
  accept(GetParam().batch);
  EXPECT_EQ(sink_.missing.size(), 1u) << "it is told once";
  accept(Batch().site(7).counter(1, 7, 5));
  EXPECT_EQ(casts(1, 7), 5u);
}

template <typename Field>
lanes::SiteDefinition site_with(Field lanes::SiteDefinition::*field, Field value) {
  lanes::SiteDefinition site{};
  site.*field = value;
  return site;
}
Batch region_of_kind(std::uint8_t kind) {
  lanes::RegionDefinition region{};
  region.kind = static_cast<lanes::RegionKind>(kind);
  return Batch().define(DefinitionKind::kRegion, 1, region);
}
Batch region_in_itself() {
  lanes::RegionDefinition region{};
  region.parent = 1;
  return Batch().define(DefinitionKind::kRegion, 1, region);
}
Batch uneven_counters() {
  Batch batch;
  batch.counter(1, 1, 1).batch().mutable_counters()->add_casts(2);
  return batch;
}
Batch wrong_count() {
  Batch batch;
  batch.casts(1, 0, 5, 1).batch().mutable_event_blocks(0)->set_event_count(6);
  return batch;
}
Batch damaged_events() {
  Batch batch;
  batch.casts(1, 0, 5, 1)
      .batch()
      .mutable_event_blocks(0)
      ->set_packed_events(std::string(1, static_cast<char>(wire::kEventBlockFormat)) + "garbage");
  return batch;
}
Batch older_events() {
  Batch batch;
  batch.casts(1, 0, 5, 1).batch().mutable_event_blocks(0)->mutable_packed_events()->at(0) = 2;
  return batch;
}
Batch cut_short() {
  Batch batch;
  batch.text(1, "abcdefgh").batch().mutable_definitions()->resize(20);
  return batch;
}
Batch long_stack() {
  Batch batch;
  batch.stack(1, {{1, 1}});
  (*batch.batch().mutable_definitions())[16] = 100;  // the count
  return batch;
}

INSTANTIATE_TEST_SUITE_P(
    All, MalformedBatchTest,
    testing::Values(
        MalformedBatch{"UnevenCounters", uneven_counters(), "differ in length"},
        MalformedBatch{"EventsWrittenToLaneZero", Batch().lane(0, 1), "lane 0"},
        MalformedBatch{"UnknownEnd", Batch().end(static_cast<v1::ProcessEndKind>(9), 0), "end of an unknown kind"},
        MalformedBatch{"ImpossibleStatus", Batch().end(v1::PROCESS_END_KIND_EXITED, 256), "exit status 256"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    All, DamagedPartTest,
    testing::Values(
        MalformedBatch{"CutShort", cut_short(), "impossible length"},
        MalformedBatch{"UnknownKind", Batch().raw(static_cast<DefinitionKind>(77), 1, ""), "unknown kind 77"},
        MalformedBatch{"NoNumber", Batch().text(0, "x"), "without a number"},
        MalformedBatch{"HugeNumber", Batch().site(kLargestDefinitionId + 1), "with the number"},
        MalformedBatch{"ShortSite", Batch().raw(DefinitionKind::kSite, 1, "abc"),
                       "a definition (site) of 3 bytes, not 32"},
        MalformedBatch{"LongStack", long_stack(), "a stack of 100 frames"},
        MalformedBatch{"UnlistedRole",
                       Batch().site(1, site_with(&lanes::SiteDefinition::role, static_cast<lanes::Role>(6))),
                       "on no list"},
        MalformedBatch{"UnlistedCause",
                       Batch().site(1, site_with(&lanes::SiteDefinition::cause, static_cast<lanes::Cause>(14))),
                       "on no list"},
        MalformedBatch{"UnlistedWhy",
                       Batch().site(1, site_with(&lanes::SiteDefinition::why, static_cast<lanes::WhyNotCached>(11))),
                       "on no list"},
        MalformedBatch{"UnlistedPhase",
                       Batch().site(1, site_with(&lanes::SiteDefinition::phase, static_cast<lanes::Phase>(4))),
                       "on no list"},
        MalformedBatch{"UnlistedRegionKind", region_of_kind(5), "unknown kind"},
        MalformedBatch{"RegionInItself", region_in_itself(), "region 1 that is its own parent"},
        MalformedBatch{"EventsOfLaneZero", Batch().casts(0, 0, 1, 1), "lane 0"},
        MalformedBatch{"EmptyBlock", Batch().casts(1, 0, 0, 1), "a block of 0 events"},
        MalformedBatch{"WrongCount", wrong_count(), "a block of 5 events called 6"},
        MalformedBatch{"DamagedEvents", damaged_events(), "damaged event block"},
        MalformedBatch{"OlderEvents", older_events(), "sent events packed in format 2, this castscope reads format 4"},
        MalformedBatch{"ImpossibleNumbers", Batch().casts(1, ~0ull - 1, 5, 1), "impossible numbers"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace castscope::ingest
