#include "server/ingest/validation/bounds.h"

#include "server/ingest/validation/validator_test.h"

namespace castscope::ingest {
namespace {

constexpr std::uint64_t kTooMuch = std::uint64_t{1} << 63;

class BoundsTest : public ValidatorTest {
 protected:
  // Process 1 counts: lane 1, site 1.
  std::string lose_counter(void (v1::Counters::*set)(int, std::uint64_t), const std::string& name) {
    Batch batch = Batch(name).begin().site(1).counter(1, 1, 1);
    (batch.batch().mutable_counters()->*set)(0, kTooMuch);
    return lose_part_of(batch);
  }
};

TEST_F(BoundsTest, ACountBeyondSqlsIntegersIsNotTaken) {
  EXPECT_EQ(lose_counter(&v1::Counters::set_casts, "a"),
            "process a sent a count of casts of 9223372036854775808, beyond 2^63 - 1; its other counts were taken");
  EXPECT_THAT(lose_counter(&v1::Counters::set_cache_hits, "b"),
              HasSubstr("a count of cache_hits of 9223372036854775808"));
  EXPECT_THAT(lose_counter(&v1::Counters::set_pass_throughs, "c"), HasSubstr("a count of pass_throughs"));
  EXPECT_THAT(lose_counter(&v1::Counters::set_traced, "d"), HasSubstr("a count of traced"));
  EXPECT_THAT(lose_counter(&v1::Counters::set_bytes, "e"), HasSubstr("a count of bytes"));
  EXPECT_THAT(lose_counter(&v1::Counters::set_cpu_ns, "f"), HasSubstr("a count of cpu_ns"));
  EXPECT_THAT(lose_counter(&v1::Counters::set_kept, "g"), HasSubstr("a count of kept"));
  for (const auto& [key, process] : sink_.processes) EXPECT_TRUE(process.counters.empty()) << key;
}

TEST_F(BoundsTest, TheLargestCountIsTaken) {
  begun();
  accept(Batch().site(1).counter(1, 1, kMostCount));
  EXPECT_EQ(casts(1, 1), kMostCount);
}

// SQLite's sum() fails beyond its integers, and no report could be made of the file.
TEST_F(BoundsTest, ACountThatTakesARunsSumBeyondSqlsIntegersIsNotTaken) {
  begun();
  accept(Batch().site(1).counter(1, 1, kMostCount - 5));
  accept(Batch().counter(1, 1, kMostCount - 3));  // absolute: two more
  accept(Batch("other").begin().site(1).counter(1, 1, 3));
  EXPECT_EQ(
      lose_part_of(Batch("third").begin().site(1).counter(1, 1, 1).counter(1, 0, 0, 9)),
      "process third sent a count of casts that takes the run's sum beyond 2^63 - 1; its other counts were taken");
  const auto& third = sink_.processes["third"].counters;
  ASSERT_EQ(third.size(), 1u);
  EXPECT_EQ(third.begin()->second.hits, 9u);
}

// They stay in the collector's memory for as long as their processes run, whatever keys a sender gives those.
TEST_F(BoundsTest, DefinitionsOfARunAreBoundedOverAllItsProcesses) {
  validator_.bound_definitions(2500);
  const std::string text(900, 'x');
  accept(Batch("a").begin().text(1, text));
  accept(Batch("b").begin().text(1, text));
  accept(Batch("b").text(1, text));  // again, after a reconnect
  EXPECT_THAT(reject(Batch("c").begin().text(1, text)),
              HasSubstr("definitions that take those of the run beyond 2500 bytes; the rest of it is ignored"));
  accept(Batch("a").begin().text(1, text).lane(1, 5));  // which defines nothing new
}

// The run file has a text with each definition that names it: a kilobyte of records could fill a disk.
TEST_F(BoundsTest, ATextCountsWithEachDefinitionThatNamesIt) {
  const auto expect_beyond = [&](DefinitionKind kind, const auto& definition) {
    validator_ = RunValidator();
    sink_ = RecordingSink();
    validator_.bound_definitions(10'000);
    Batch batch = Batch().begin().text(1, std::string(900, 'x'));
    batch.define(DefinitionKind::kOperator, 2, lanes::OperatorDefinition{.name = 1});
    for (std::uint32_t id = 1; id <= 20; ++id) batch.define(kind, id + 2, definition);
    EXPECT_THAT(reject(batch), HasSubstr("definitions that take those of the run beyond 10000 bytes"));
    EXPECT_LT(sink_.definitions, 12) << "what is beyond is not written first";
  };
  expect_beyond(DefinitionKind::kModule, lanes::ModuleDefinition{.path = 1});
  expect_beyond(DefinitionKind::kCode, lanes::CodeDefinition{.file = 1});
  expect_beyond(DefinitionKind::kCallSite, lanes::CallSiteDefinition{.argument_name = 1});
  expect_beyond(DefinitionKind::kThread, lanes::ThreadDefinition{.name = 1});
  expect_beyond(DefinitionKind::kSite, lanes::SiteDefinition{.op = 2});
}

// The report says the stack of each site, which a sender may have sent once.
TEST_F(BoundsTest, WhatAReportSaysOfAStackCountsWithEachSiteOnIt) {
  validator_.bound_definitions(100'000);
  const auto on_one_stack = [](const std::string& process, std::uint32_t sites) {
    Batch batch = Batch(process).begin().text(1, std::string(20'000, 'x'));
    batch.define(DefinitionKind::kCode, 1, lanes::CodeDefinition{.file = 1}).stack(1, {{.code = 1, .line = 7}});
    for (std::uint32_t id = 1; id <= sites; ++id) batch.site(id, {.stack = 1});
    return batch;
  };
  accept(on_one_stack("few", 20));
  EXPECT_THAT(reject(on_one_stack("many", 1000)),
              HasSubstr("definitions that take those of the run beyond 100000 bytes"));
}

// A process that defines nothing has a key and a host, and its row in the run file.
TEST_F(BoundsTest, ProcessesCountWithTheirNames) {
  validator_.bound_definitions(1'000'000);
  const auto named = [](int number) { return absl::StrCat(number, std::string(4000, 'k')); };
  for (int i = 0; i < 122; ++i) accept(Batch(named(i)).begin(i));
  EXPECT_THAT(reject(Batch(named(200)).begin(200)), HasSubstr("those of the run beyond 1000000 bytes"));
  EXPECT_LT(sink_.processes.size(), 125u);
  accept(Batch(named(1)).begin(1).lane(1, 5));  // who was there before goes on
}

// Whoever makes many processes has no more lanes and counters for that.
TEST_F(BoundsTest, LanesAndCountersOfARunAreBoundedOverAllItsProcesses) {
  validator_.bound_definitions(200'000);
  const auto sent = [this](bool lanes) {
    int taken = 0;
    for (;; ++taken) {
      const std::string key = absl::StrCat(lanes ? "lanes" : "counters", taken);
      Batch batch = Batch(key).begin(taken).site(1);
      for (std::uint32_t i = 1; i <= 100; ++i) lanes ? batch.lane(i, 1) : batch.counter(1, i, 1);
      const Verdict verdict = validator_.apply(batch, sink_);
      if (verdict.ok() && taken < 1000) continue;
      EXPECT_THAT(verdict.rejected.message(),
                  HasSubstr("lanes and counters that take those of the run beyond 200000 bytes"));
      return taken;
    }
  };
  EXPECT_THAT(sent(true), testing::AllOf(testing::Gt(5), testing::Lt(14)));
  validator_ = RunValidator();
  validator_.bound_definitions(200'000);
  EXPECT_THAT(sent(false), testing::AllOf(testing::Gt(20), testing::Lt(45)));
}

TEST_F(BoundsTest, LanesAndCountersOfARunTakeAGibibyteOfMemory) {
  validator_.bound_definitions(std::uint64_t{1} << 40);
  int taken = 0;
  for (Verdict verdict; taken < 100; ++taken) {
    Batch batch = Batch(absl::StrCat("process ", taken)).begin(taken);
    for (std::uint32_t i = 1; i <= 60'000; ++i) batch.lane(i, 1);
    verdict = validator_.apply(batch, sink_);
    if (verdict.ok()) continue;
    EXPECT_THAT(verdict.rejected.message(), HasSubstr("beyond 1024 MiB of memory"));
    break;
  }
  EXPECT_EQ(taken, 11);
}

// Else a process that has ended, or says that it has, could define without end.
TEST_F(BoundsTest, AfterItsEndAProcessDefinesNothingNew) {
  validator_.bound_definitions(10'000);
  const auto modules = [](std::uint32_t first, std::uint32_t last) {
    Batch batch = Batch().begin().text(1, std::string(900, 'x'));
    for (std::uint32_t id = first; id <= last; ++id)
      batch.define(DefinitionKind::kModule, id, lanes::ModuleDefinition{.path = 1});
    return batch;
  };
  accept(modules(1, 3));
  for (int status = 0; status < 3; ++status) {
    accept(Batch().begin().end(v1::PROCESS_END_KIND_EXITED, status));
    accept(modules(1, 3));
  }
  EXPECT_THAT(sink_.missing, testing::IsEmpty()) << "a relay that comes back says it again";
  const int before = sink_.definitions;
  accept(modules(4, 20));
  EXPECT_LE(sink_.definitions, before + 1);
  ASSERT_EQ(sink_.missing.size(), 1u);
  EXPECT_THAT(sink_.missing[0].sentence, HasSubstr("sent definitions after its end; its counts were taken"));
}

// Each is said to be rejected, as far as there is room to say so. A relay that introduces the others again comes from
// no other run.
TEST_F(BoundsTest, OfARunWithoutRoomSomeThousandProcessesAreRemembered) {
  validator_.bound_definitions(1000);
  std::vector<std::string> told;
  for (int i = 0; i < 5000; ++i)
    if (const Verdict verdict = validator_.apply(Batch(absl::StrCat("p", i)).begin(i), sink_); !verdict.rejected.ok())
      told.emplace_back(verdict.rejected.message());
  EXPECT_THAT(told.front(), HasSubstr("those of the run beyond 1000 bytes"));
  EXPECT_THAT(told.back(), HasSubstr("process p4096 is one too many for a run"));
  EXPECT_TRUE(validator_.knows("p4999"));
  validator_.bound_definitions(1'000'000);
  EXPECT_TRUE(validator_.knows("p4999")) << "also when the quota has become larger";
}

// A relay says its definitions again whenever it comes back.
TEST_F(BoundsTest, WhatIsDefinedAgainCountsOnce) {
  validator_.bound_definitions(5000);
  Batch batch = Batch("a")
                    .begin()
                    .text(1, std::string(900, 'x'))
                    .define(DefinitionKind::kOperator, 2, lanes::OperatorDefinition{.name = 1});
  batch.define(DefinitionKind::kCode, 1, lanes::CodeDefinition{.file = 1}).stack(1, {{.code = 1, .line = 7}});
  batch.define(DefinitionKind::kModule, 1, lanes::ModuleDefinition{.path = 1});
  batch.define(DefinitionKind::kCallSite, 1, lanes::CallSiteDefinition{.argument_name = 1});
  batch.define(DefinitionKind::kThread, 1, lanes::ThreadDefinition{.name = 1});
  batch.site(1, {.stack = 1, .module = 1, .call_site = 1});
  for (int times = 0; times < 100; ++times) accept(batch);
}

TEST_F(BoundsTest, SoAreGaugesLanesAndTimes) {
  Batch gauges = Batch("gauges").begin();
  gauges.batch().mutable_gauges()->set_cache_peak_bytes(kTooMuch);
  EXPECT_THAT(reject(gauges), HasSubstr("a gauge cache_peak_bytes of 9223372036854775808, beyond 2^63 - 1"));
  EXPECT_THAT(reject(Batch("written").begin().lane(1, kTooMuch)), HasSubstr("a count of events_published of"));
  EXPECT_THAT(reject(Batch("dropped").begin().lane(1, 0, kTooMuch)), HasSubstr("a count of events_dropped of"));
  Batch ticks = Batch("ticks").begin();
  ticks.batch().mutable_process_begin()->set_start_ticks(kTooMuch);
  EXPECT_THAT(reject(ticks), HasSubstr("a start time of"));
  std::vector<lanes::Event> events(1);
  events[0].kind = lanes::EventKind::kCast;
  events[0].bytes = kTooMuch;
  EXPECT_THAT(lose_part_of(Batch("bytes").begin().events(1, 0, events)), HasSubstr("a number of bytes in an event of"));
  events[0].bytes = 0;
  events[0].time = kTooMuch;
  EXPECT_THAT(lose_part_of(Batch("time").begin().events(1, 0, events)), HasSubstr("a time of an event of"));
}

// An event was written before it came, whatever the state of its lane says.
TEST_F(BoundsTest, NumbersOfEventsThatTakeARunsSumBeyondSqlsIntegersAreNotTaken) {
  constexpr std::uint64_t kLastEvent = (std::uint64_t{1} << 62) - 1;
  begun();
  accept(Batch().casts(1, kLastEvent, 1, 0));
  EXPECT_THAT(reject(Batch().casts(2, kLastEvent, 1, 0)),
              HasSubstr("a count of events_published that takes the run's sum beyond 2^63 - 1"));
}

// The file has no room for such a lane, and an error of the file would be the end of the run.
TEST_F(BoundsTest, ALaneBeyondTheLastIsItsProcessesFault) {
  EXPECT_EQ(lose_part_of(Batch("a").begin().casts(65536, 0, 1, 0)),
            "process a sent something of lane 65536, and lanes end at 65535; its counts were taken, and not all of its "
            "events");
  EXPECT_THAT(reject(Batch("b").begin().site(1).counter(65536, 1, 1)), HasSubstr("something of lane 65536"));
  EXPECT_THAT(reject(Batch("c").begin().lane(4'000'000'000, 1)), HasSubstr("something of lane 4000000000"));
  accept(Batch("d").begin().lane(65535, 1));
}

// The words of GradScaler's events are floating-point numbers: -1 is a large integer.
TEST_F(BoundsTest, AScaleIsNoCount) {
  std::vector<lanes::Event> events(1);
  events[0].kind = lanes::EventKind::kScaler;
  put(events[0], lanes::ScalerEvent{.before = 1, .after = -1});
  accept(Batch().begin().events(1, 0, events));
  EXPECT_EQ(lane().events.size(), 1u);
}

}  // namespace
}  // namespace castscope::ingest
