// Small blocks become large ones, and no event is lost, changed or moved within its lane.
#include "server/store/file/event_merge.h"

#include <cstring>
#include <map>

#include "server/store/read/event_blocks.h"
#include "server/store/testing/run_store_test.h"

namespace castscope::store {
namespace {

class EventMergeTest : public RunStoreTest {
 protected:
  using Lanes = std::map<std::pair<std::uint32_t, std::uint32_t>, std::string>;

  // A job of two processes with two lanes each that hands over three events at a time.
  void record(RunStore& store, int steps = 300) {
    TestRun first(store, 100), second(store, 101);
    const std::uint32_t weight = first.weight("train.py", 10, "fc");
    ASSERT_EQ(second.weight("train.py", 10, "fc"), weight);
    for (int i = 0; i < steps; ++i) {
      for (TestRun* run : {&first, &second}) {
        run->lane(1).step().cast(weight, kTensor, true).lane(2).hit(weight, kTensor).lane(1).flush();
      }
    }
  }
  // The bytes of each lane's events, and where the file says that some are not kept.
  Lanes events(const std::string& file, int* gaps = nullptr) {
    Lanes lanes;
    const absl::Status status = read_event_blocks(file, [&](const KeptBlock& block) {
      std::vector<lanes::Event> events;
      EXPECT_TRUE(wire::unpack(block.packed, wire::kMostEventsInBlock, &events).ok());
      lanes[{block.process, block.lane}].append(reinterpret_cast<const char*>(events.data()),
                                                events.size() * sizeof(lanes::Event));
      if (gaps != nullptr) *gaps += block.after_gap;
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return lanes;
  }
};

TEST_F(EventMergeTest, ClosingBringsSmallBlocksTogetherAndChangesNoEvent) {
  auto store = create({.keep_all = true});
  record(*store);
  const Lanes before = events(path());
  EXPECT_EQ(query("SELECT count(*) FROM event_blocks"), 1200);
  const std::int64_t bytes = query("SELECT sum(length(packed_events)) FROM event_blocks");
  ASSERT_TRUE(store->close().ok());
  int gaps = 0;
  EXPECT_EQ(events(path(), &gaps), before);
  EXPECT_EQ(gaps, 0);
  EXPECT_EQ(query("SELECT count(*) FROM event_blocks"), 4);
  EXPECT_EQ(query("SELECT sum(event_count) FROM event_blocks"), 1800);
  EXPECT_LT(query("SELECT sum(length(packed_events)) FROM event_blocks") * 5, bytes);
  EXPECT_EQ(query("SELECT min(first_step) FROM event_blocks"), 1);
  EXPECT_EQ(query("SELECT max(last_step) FROM event_blocks"), 300);
  EXPECT_EQ(query("PRAGMA freelist_count"), 0);
}

TEST_F(EventMergeTest, ContinuingAfterAKillDoesItToo) {
  auto store = create({.keep_all = true});
  record(*store);
  for (const char* suffix : {"", "-wal"}) {
    std::filesystem::copy_file(path() + suffix, path("left.castscope") + suffix);
  }
  auto again = RunStore::resume(path("left.castscope"), {.keep_all = true});
  ASSERT_TRUE(again.ok()) << again.status().message();
  ASSERT_TRUE((*again)->close().ok());
  EXPECT_EQ(events(path("left.castscope")), events(path()));
  EXPECT_LT(std::filesystem::file_size(path("left.castscope")), std::filesystem::file_size(path()));
}

TEST_F(EventMergeTest, AFileMayBeGoneOnWithAfterwards) {
  ASSERT_TRUE(create({.keep_all = true})->close().ok());
  for (int life = 0; life < 2; ++life) {
    auto store = RunStore::resume(path(), {.keep_all = true});
    ASSERT_TRUE(store.ok()) << store.status().message();
    record(**store, 20);
    ASSERT_TRUE((*store)->close().ok());
  }
  int gaps = 0;
  events(path(), &gaps);
  EXPECT_EQ(gaps, 0);
  EXPECT_EQ(query("SELECT sum(event_count) FROM event_blocks"), 2 * 120);
}

TEST_F(EventMergeTest, TheGapStaysWhereItIs) {
  auto store = create({.first_window_bytes = 200, .newest_window_bytes = 300});
  record(*store);
  int before = 0, after = 0;
  const Lanes lanes = events(path(), &before);
  ASSERT_TRUE(store->close().ok());
  EXPECT_EQ(events(path(), &after), lanes);
  EXPECT_EQ(before, 2);  // one a process
  EXPECT_EQ(after, 2);
  EXPECT_EQ(query("SELECT count(DISTINCT kept_window) FROM event_blocks"), 2);
}

TEST_F(EventMergeTest, ABlockThatCannotBeReadStays) {
  auto store = create({.keep_all = true});
  record(*store, 9);
  auto database = Database::open(path(), SQLITE_OPEN_READWRITE);
  ASSERT_TRUE(
      Database::open(path(), SQLITE_OPEN_READWRITE)
          ->exec("UPDATE event_blocks SET packed_events = x'0142' WHERE process = 1 AND lane = 1 AND first_step = 5")
          .ok());
  ASSERT_TRUE(store->close().ok());
  EXPECT_EQ(query("SELECT count(*) FROM event_blocks WHERE process = 1 AND lane = 1"), 3);
  EXPECT_EQ(query("SELECT count(*) FROM event_blocks WHERE packed_events = x'0142'"), 1);
}

}  // namespace
}  // namespace castscope::store
