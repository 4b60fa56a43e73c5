#include "server/report/timelines/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "server/report/text/event_names.h"
#include "server/store/testing/test_run.h"
#include "server/store/write/run_store.h"

namespace castscope::report {
namespace {

using store::RunStore;
using store::TestRun;

// "B1 C2 H2 E": a letter for each event, with the id of its region or site. Fails where times go back.
class Letters final : public TimelineSink {
 public:
  void region_begin(const LaneKey&, std::int64_t time, store::RegionId region, const lanes::Event&) override {
    add("B" + std::to_string(region), time);
    ++open;
  }
  void region_end(const LaneKey&, std::int64_t time) override {
    add("E", time);
    ASSERT_GT(open--, 0);
  }
  void cast(const LaneKey&, std::int64_t time, std::int64_t duration, store::SiteId site,
            const lanes::Event&) override {
    add("C" + std::to_string(site), time);
    last = time + duration;
  }
  void instant(const LaneKey&, std::int64_t time, store::SiteId site, const lanes::Event& event) override {
    add(event.kind == lanes::EventKind::kHit ? "H" + std::to_string(site) : "I", time);
  }
  std::string text;
  int open = 0;
  std::int64_t last = 0;

 private:
  void add(const std::string& letter, std::int64_t time) {
    EXPECT_GE(time, last) << text << " " << letter;
    last = time;
    text += (text.empty() ? "" : " ") + letter;
  }
};

class TimelineTest : public ::testing::Test {
 protected:
  TimelineTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "castscope-timeline-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    begin({});
  }
  ~TimelineTest() override { std::filesystem::remove_all(folder_); }

  void begin(store::StoreOptions options) {
    store_.reset();
    options.overwrite = true;
    auto store = RunStore::create(path(), {}, options);
    ASSERT_TRUE(store.ok()) << store.status().message();
    store_ = *std::move(store);
    run_ = std::make_unique<TestRun>(*store_);
    region_ = run_->region("train.py", 5);
    inner_ = run_->region("train.py", 6);
    weight_ = run_->weight("train.py", 8, "fc");
  }
  std::string path() const { return (folder_ / "run.castscope").string(); }
  std::string letters(std::optional<LaneKey> only = std::nullopt) {
    run_->end();
    EXPECT_TRUE(store_->close().ok());
    const auto timeline = Timeline::open(path());
    EXPECT_TRUE(timeline.ok()) << timeline.status().message();
    Letters letters;
    const absl::Status status = timeline->send_events(
        letters, [] { return absl::OkStatus(); }, only);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(letters.open, 0);
    return letters.text;
  }

  std::filesystem::path folder_;
  std::unique_ptr<RunStore> store_;
  std::unique_ptr<TestRun> run_;
  std::uint32_t region_ = 0, inner_ = 0, weight_ = 0;
};

TEST_F(TimelineTest, RegionsHoldTheirCasts) {
  run_->step().enter(region_).cast(weight_, 1, true).enter(inner_).hit(weight_, 1).exit(false).exit();
  EXPECT_EQ(letters(), "I B1 C1 B2 H1 E E I");
}

// Operators are left out: an operator's event comes at its end, after the spans that it contains.
TEST_F(TimelineTest, OperatorsAreLeftOutAndWhatPassesThroughIsAnInstant) {
  const auto linear = run_->use({.op = "aten::linear", .line = 8});
  run_->enter(region_)
      .pass_with_event(weight_)
      .cast(weight_, 1, true)
      .called_with_event(linear, 1500)
      .hit(weight_, 1)
      .exit(false);
  EXPECT_EQ(letters(), "B1 I C1 H1 E");
}

TEST_F(TimelineTest, WhatIsOpenAtTheEndIsEnded) {
  run_->enter(region_).enter(inner_).cast(weight_, 1);
  EXPECT_EQ(letters(), "B1 B2 C1 E E");
}

TEST_F(TimelineTest, AnEndWhoseBeginWasDroppedEndsNothing) {
  run_->enter(region_).flush();
  run_->enter(inner_).drop().exit(false).flush().cast(weight_, 1).exit(false);
  EXPECT_EQ(letters(), "B1 C1 E");
}

TEST_F(TimelineTest, AnEndEndsWhatIsInsideToo) {
  run_->enter(region_).enter(inner_).flush();
  run_->exit(false).drop().cast(weight_, 1).exit(false);
  EXPECT_EQ(letters(), "B1 B2 C1 E E");
}

TEST_F(TimelineTest, ACastThatTookLongerThanUntilTheNextEventStillNests) {
  run_->enter(region_).cast(weight_, 1, false, 10, 5000).cast(weight_, 1).exit(false);
  EXPECT_EQ(letters(), "B1 C1 C1 E");
}

TEST_F(TimelineTest, WhereEventsAreNotKeptNothingStaysOpen) {
  begin({.keep_all = false, .first_window_bytes = 1, .newest_window_bytes = 1});
  run_->enter(region_).flush();
  for (int i = 0; i < 9; ++i) run_->cast(weight_, 1).flush();
  EXPECT_EQ(letters(), "B1 E C1");
}

TEST_F(TimelineTest, OneLaneAlone) {
  run_->enter(region_).flush();
  run_->lane(2).cast(weight_, 1).flush();
  EXPECT_EQ(letters(LaneKey{store::ProcessId(1), 2}), "C1");
}

TEST_F(TimelineTest, NamesSayWhatIsCastToWhat) {
  run_->enter(region_);
  letters();
  const auto timeline = Timeline::open(path());
  EXPECT_EQ(span_name(timeline->run(), timeline->run().sites.front()), "linear weight, float32 to bfloat16");
  EXPECT_EQ(span_name(timeline->run().regions.front()), "autocast cpu bfloat16");
  EXPECT_EQ(process_name(timeline->run().processes.front()), "pid 100 on host");
  EXPECT_EQ(lane_name(timeline->run().processes.front(), 1), "lane 1");
}

TEST_F(TimelineTest, ProcessesOfEqualPidsOnTwoHostsStayApart) {
  TestRun other(*store_, 100, "other"), alone(*store_, 101);
  other.end(), alone.end();
  letters();
  const auto timeline = Timeline::open(path());
  ASSERT_TRUE(timeline.ok());
  const store::RunData& run = timeline->run();
  EXPECT_NE(pid_in_trace(run, store::ProcessId(1)), pid_in_trace(run, store::ProcessId(2)));
  EXPECT_GT(pid_in_trace(run, store::ProcessId(1)), 1 << 22) << "no process has that pid";
  EXPECT_EQ(pid_in_trace(run, store::ProcessId(3)), 101);
}

}  // namespace
}  // namespace castscope::report
