// Definitions and events as messages: they become what the packed forms become, and are checked alike.
#include <google/protobuf/stubs/logging.h>

#include <random>

#include "server/ingest/validation/validator_test.h"

namespace castscope::ingest {
namespace {

class PlainValidatorTest : public ValidatorTest {
 protected:
  v1::Definition& add(Batch& batch, std::uint32_t id) {
    v1::Definition& definition = *batch.batch().add_plain_definitions();
    definition.set_local_id(id);
    return definition;
  }
  void add_frame(v1::Stack& stack, const std::string& file, const std::string& function, std::uint32_t line) {
    v1::Frame& frame = *stack.add_frames();
    frame.set_file(file);
    frame.set_function(function);
    frame.set_line(line);
  }
  void add_site(Batch& batch, std::uint32_t id) {
    v1::Site& site = *add(batch, id).mutable_define_site();
    site.set_stack(1);
    site.set_module_id(1);
    site.set_call_site(1);
    site.set_region(1);
    site.set_role("weight");
    site.set_cause("autocast");
    site.set_why_not_cached("view");
    site.set_phase("forward");
    site.set_from_dtype("float32");
    site.set_to_dtype("bfloat16");
    site.set_device("cpu");
  }
  // A process with a stack, a module, a call site, a region and site 1.
  Batch defined() {
    Batch batch = Batch().begin();
    v1::Stack& stack = *add(batch, 1).mutable_define_stack();
    add_frame(stack, "train.py", "forward", 7);
    add_frame(stack, "train.py", "main", 9);
    v1::Module& module = *add(batch, 1).mutable_define_module();
    module.set_module("fc");
    module.set_module_type("Linear");
    module.set_root_module_type("Net");
    module.set_root_module_number(1);
    v1::CallSite& call_site = *add(batch, 1).mutable_define_call_site();
    call_site.set_operator_("aten::linear");
    call_site.set_argument_position(0);
    call_site.set_argument_name("input");
    v1::Region& region = *add(batch, 1).mutable_define_region();
    region.set_stack(1);
    region.set_nesting(1);
    region.set_region_device("cpu");
    region.set_region_dtype("bfloat16");
    region.set_enabled(true);
    region.set_region_kind("context");
    add_site(batch, 1);
    return batch;
  }
  v1::Event& event(Batch& batch, std::uint64_t time_ns) {
    if (batch.batch().event_blocks().empty()) batch.batch().add_event_blocks()->set_lane(1);
    v1::Events& block = *batch.batch().mutable_event_blocks(0);
    block.set_event_count(block.event_count() + 1);
    v1::Event& event = *block.add_plain_events();
    event.set_time_in_process_ns(time_ns);
    event.set_step(2);
    event.set_stay(3);
    return event;
  }
};

TEST_F(PlainValidatorTest, DefinitionsArriveWithTheirTextsAndWords) {
  Batch batch = defined();
  v1::Thread& thread = *add(batch, 1).mutable_define_thread();
  thread.set_lane(1);
  thread.set_thread_name("python");
  v1::Attribute& attribute = *add(batch, 0).mutable_define_attribute();
  attribute.set_attribute("rank");
  attribute.set_value("3");
  accept(batch);
  const RecordingSink::Process& process = sink_.only();
  ASSERT_EQ(process.stacks.at(1).frames.size(), 2u);
  EXPECT_EQ(process.stacks.at(1).frames[1].function, "main");
  EXPECT_EQ(process.stacks.at(1).frames[1].line, 9);
  EXPECT_EQ(process.modules.at(1).root_type, "Net");
  EXPECT_EQ(process.call_sites.at(1).op, "aten::linear");
  EXPECT_EQ(process.call_sites.at(1).argument, 0u);
  EXPECT_EQ(process.regions.at(1).kind, lanes::RegionKind::kContext);
  EXPECT_EQ(process.regions.at(1).dtype, 15);
  const store::SiteInfo& site = process.sites.at(1);
  EXPECT_EQ(site.stack * site.module * site.call_site * site.region, 1u);
  EXPECT_EQ(site.role, lanes::Role::kWeight);
  EXPECT_EQ(site.cause, lanes::Cause::kAutocast);
  EXPECT_EQ(site.why, lanes::WhyNotCached::kView);
  EXPECT_EQ(site.phase, lanes::Phase::kForward);
  EXPECT_EQ(site.from, 6);
  EXPECT_EQ(site.to, 15);
  EXPECT_EQ(process.threads.at(1).name, "python");
  EXPECT_THAT(process.attributes, testing::ElementsAre(testing::Pair("rank", "3")));
}

TEST_F(PlainValidatorTest, AnArgumentThatIsNotGivenIsNotKnown) {
  Batch batch = Batch().begin();
  add(batch, 1).mutable_define_call_site()->set_operator_("aten::mm");
  accept(batch);
  EXPECT_EQ(sink_.only().call_sites.at(1).argument, lanes::kUnknownArgument);
}

TEST_F(PlainValidatorTest, TheSameAgainDefinesNothingAnew) {
  accept(defined());
  const int definitions = sink_.definitions;
  accept(defined());
  EXPECT_EQ(sink_.definitions, definitions + 1) << "call sites may come with more known";
}

TEST_F(PlainValidatorTest, EventsAreWhatThePackedOnesAre) {
  accept(defined());
  Batch plain;
  v1::Cast& cast = *event(plain, 10).mutable_cast();
  cast.set_site(1);
  cast.set_duration_ns(5);
  cast.set_bytes(64);
  cast.set_source_address(0x7f00);
  cast.set_source_version(2);
  for (const std::uint32_t size : {8, 4}) cast.add_shape(size);
  cast.set_was_kept(true);
  event(plain, 20).mutable_cache_hit()->set_site(1);
  event(plain, 30).set_region_enter(1);
  event(plain, 40).mutable_cache_clear()->set_cleared_bytes(64);
  event(plain, 50).set_step_begin(v1::STEP_REASON_EXPLICIT);
  event(plain, 60).mutable_optimizer_step();
  event(plain, 70).set_region_exit(9);  // never defined
  accept(plain);
  const std::vector<lanes::Event> events = lane().events;
  ASSERT_EQ(events.size(), 7u);
  EXPECT_EQ(events[0].kind, lanes::EventKind::kCast);
  EXPECT_EQ(events[0].time * events[0].step * events[0].region, 10u * 2 * 3);
  EXPECT_EQ(events[0].duration, 5u);
  EXPECT_EQ(events[0].flags, lanes::kFlagKept);
  EXPECT_EQ(as_cast(events[0]).source(), 0x7f00u);
  EXPECT_EQ(as_cast(events[0]).version(), 2u);
  EXPECT_THAT(as_cast(events[0]).shape(), testing::ElementsAre(8u, 4u));
  EXPECT_EQ(events[1].kind, lanes::EventKind::kHit);
  EXPECT_EQ(events[2].kind, lanes::EventKind::kRegionEnter);
  EXPECT_EQ(as_clear(events[3]).bytes, 64u);
  EXPECT_EQ(events[4].flags, static_cast<int>(lanes::StepReason::kExplicit));
  EXPECT_EQ(events[5].kind, lanes::EventKind::kOptimizer);
  EXPECT_EQ(events[6].site, 0u);
  std::vector<lanes::Event> kept;
  ASSERT_TRUE(wire::unpack(lane().packed, events.size(), &kept).ok()) << "the file keeps them packed";
  EXPECT_EQ(kept.size(), events.size());
}

TEST_F(PlainValidatorTest, OfManySizesTheFirstStandsForThoseWithoutAPlace) {
  begun();
  Batch plain;
  v1::Cast& cast = *event(plain, 10).mutable_cast();
  for (const std::uint32_t size : {2, 3, 5, 7, 11, 13}) cast.add_shape(size);
  accept(plain);
  EXPECT_EQ(lane().events[0].ndim, 6);
  EXPECT_THAT(as_cast(lane().events[0]).shape(), testing::ElementsAre(30u, 7u, 11u, 13u));
}

TEST_F(PlainValidatorTest, EventsSentAgainAreNotDoubled) {
  begun();
  Batch plain;
  for (std::uint64_t time : {1, 2, 3}) event(plain, time).mutable_cast();
  accept(plain);
  accept(plain);
  EXPECT_EQ(lane().events.size(), 3u);
}

TEST_F(PlainValidatorTest, SaysWhatItDoesNotUnderstand) {
  const auto reject_with = [this](const std::string& name, const auto& spoil) {
    Batch batch(name);
    batch.begin();
    spoil(batch);
    return reject(batch);
  };
  const auto site = [this](Batch& batch) -> v1::Site& {
    add_site(batch, 1);
    return *batch.batch().mutable_plain_definitions(0)->mutable_define_site();
  };
  EXPECT_THAT(reject_with("a", [&](Batch& b) { site(b).set_role("wieght"); }),
              HasSubstr("the role \"wieght\", which is on no list"));
  EXPECT_THAT(reject_with("b", [&](Batch& b) { site(b).set_to_dtype("bf16"); }), HasSubstr("the dtype \"bf16\""));
  EXPECT_THAT(reject_with("c", [&](Batch& b) { site(b).clear_device(); }), HasSubstr("without its device"));
  EXPECT_THAT(reject_with("d", [&](Batch& b) { add(b, 4); }), HasSubstr("unknown kind, number 4"));
  EXPECT_THAT(reject_with("e", [&](Batch& b) { add(b, 0).mutable_define_stack(); }), HasSubstr("without a number"));
  EXPECT_THAT(reject_with("f", [&](Batch& b) { event(b, 1); }), HasSubstr("a plain event of an unknown kind"));
  EXPECT_THAT(reject_with("g",
                          [&](Batch& b) {
                            event(b, 1).mutable_cast();
                            b.batch().mutable_event_blocks(0)->set_event_count(2);
                          }),
              HasSubstr("a block of 1 events called 2"));
  EXPECT_THAT(reject_with("h", [&](Batch& b) { site(b), b.text(1, "x"); }),
              HasSubstr("both packed and plain definitions"));
  EXPECT_THAT(reject_with("i",
                          [&](Batch& b) {
                            event(b, 1).mutable_cast();
                            b.batch().mutable_event_blocks(0)->set_packed_events("x");
                          }),
              HasSubstr("both packed and plain events"));
}

// Good batches with overwritten bytes are accepted or rejected, never crash, and leave nothing of an unknown kind.
TEST_F(PlainValidatorTest, SurvivesDamage) {
  const google::protobuf::LogSilencer silence;
  std::mt19937_64 random(7);
  Batch source = defined();
  v1::Cast& cast = *event(source, 10).mutable_cast();
  cast.set_site(1);
  for (const std::uint32_t size : {2, 3, 5, 7, 11}) cast.add_shape(size);
  event(source, 20).set_region_enter(1);
  event(source, 30).set_step_begin(v1::STEP_REASON_EXPLICIT);
  const std::string good = source.counter(1, 1, 5).lane(1, 3).batch().SerializeAsString();
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
      for (const auto& [id, site] : process.sites) ASSERT_TRUE(lanes::is_listed(site.cause));
      for (const auto& [id, lane] : process.lanes)
        for (const lanes::Event& one : lane.events) ASSERT_LE(one.kind, lanes::kLastEventKind);
    }
  }
  EXPECT_GT(taken, 0);
}

}  // namespace
}  // namespace castscope::ingest
