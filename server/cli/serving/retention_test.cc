#include "server/cli/serving/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "server/cli/recording/output_claim.h"
#include "server/store/testing/run_folder.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr std::uint64_t kRoom = 1000;  // names of runs differ in length, and reports with them
constexpr std::int64_t kMinuteNs = 60'000'000'000, kDayNs = 24 * 60 * kMinuteNs;

class RetentionTest : public testing::Test {
 protected:
  // A run that a collector wrote, and that ended so many days ago.
  void write(const std::string& name, int days_ago, bool ended = true, bool collected = true,
             const std::string& sender = "") {
    const std::string file = folder_ / (name + ".castscope");
    store::RunStart start;
    start.run_id = "id-of-" + name;
    start.collected = collected;
    start.sender = sender;
    auto store = store::RunStore::create(file, start);
    ASSERT_TRUE(store.ok()) << store.status().message();
    if (ended) ASSERT_TRUE((*store)->finish({.end_ns = now_ns_ - days_ago * kDayNs, .complete = true}).ok());
    ASSERT_TRUE((*store)->close().ok());
    std::ofstream(folder_ / (name + ".json"))
        << R"({"document": "report", "run": {"run_id": "id-of-)" << name << "\"}}";
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(24 * days_ago));
  }
  std::vector<std::string> removed(const Retention& kept) {
    std::vector<std::string> names;
    for (const RemovedRun& run : remove_what_is_over(folder_ / "", kept, now_ns_, senders_, read_)) {
      names.push_back(run.run_id);
      EXPECT_FALSE(fs::exists(run.stem + ".castscope") || fs::exists(run.stem + ".json")) << run.stem;
    }
    return names;
  }
  std::uint64_t size(const std::string& name) {
    return fs::file_size(folder_ / (name + ".castscope")) + fs::file_size(folder_ / (name + ".json"));
  }

  std::int64_t now_ns_ =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  store::RunFolder folder_;
  SendersOfFiles senders_;
  const store::ReadHeading read_ = [](const std::string& file) { return store::read_heading(file); };
};

TEST_F(RetentionTest, RemovesWhatEndedTooLongAgo) {
  write("old", 8);
  write("young", 6);
  write("open", 8, false);
  write("own", 8, true, false);
  std::ofstream(folder_ / "notes.json") << "{}";
  EXPECT_THAT(removed({}), IsEmpty());
  EXPECT_THAT(removed({.days = 7}), ElementsAre("id-of-old"));
  for (const char* stays : {"young.castscope", "young.json", "open.castscope", "own.castscope", "notes.json"})
    EXPECT_TRUE(fs::exists(folder_ / stays)) << stays;
}

TEST_F(RetentionTest, RemovesTheOldestWhereAllTakeTooMuch) {
  for (int days : {1, 3, 2}) write("r" + std::to_string(days), days);
  EXPECT_THAT(removed({.bytes = 3 * size("r1")}), IsEmpty());
  EXPECT_THAT(removed({.bytes = 2 * size("r1")}), ElementsAre("id-of-r3"));
  write("open", 9, false);
  EXPECT_THAT(removed({.bytes = 1}), UnorderedElementsAre("id-of-r1", "id-of-r2")) << "what goes on stays";
}

// A collector that was stopped has closed it, and its relays come back to the next one.
TEST_F(RetentionTest, ARunThatMayStillGoOnStaysHoweverLittleRoomThereIs) {
  write("just-closed", 0);
  now_ns_ += kMinuteNs;
  EXPECT_THAT(removed({.bytes = 1}), IsEmpty());
  now_ns_ += 2 * kMinuteNs;
  EXPECT_THAT(removed({.bytes = 1}), ElementsAre("id-of-just-closed"));
}

// A sender's many small runs, which are younger than another's only one.
TEST_F(RetentionTest, WhatOneSenderSendsInGreatNumbersRemovesNothingOfAnother) {
  write("precious", 9, true, true, "careful");
  for (int days : {1, 2, 3, 4, 5, 6}) write("f" + std::to_string(days), days, true, true, "flooding");
  EXPECT_THAT(removed({.bytes = 5 * size("f1") + kRoom}), ElementsAre("id-of-f6", "id-of-f5"));
  EXPECT_THAT(removed({.bytes = 2 * size("f1") + kRoom}), ElementsAre("id-of-f4", "id-of-f3", "id-of-f2"));
  EXPECT_TRUE(fs::exists(folder_ / "precious.castscope") && fs::exists(folder_ / "f1.castscope"));
}

// Those that may not go yet are no reason to take another's.
TEST_F(RetentionTest, WhatASenderLeavesOpenOrHasJustSentRemovesNothingOfAnother) {
  write("precious", 9, true, true, "careful");
  for (int i : {1, 2, 3}) write("open" + std::to_string(i), 1, false, true, "flooding");
  for (int i : {1, 2, 3}) write("new" + std::to_string(i), 0, true, true, "flooding");
  EXPECT_THAT(removed({.bytes = 2 * size("precious")}), IsEmpty());
  now_ns_ += 3 * kMinuteNs;
  EXPECT_THAT(removed({.bytes = 2 * size("precious")}), UnorderedElementsAre("id-of-new1", "id-of-new2", "id-of-new3"));
}

TEST_F(RetentionTest, RunsWithoutAKnownSenderAreThoseOfOne) {
  write("old", 9);
  write("of-a", 8, true, true, "a");
  write("young", 1);
  EXPECT_THAT(removed({.bytes = 2 * size("young")}), ElementsAre("id-of-old"));
  EXPECT_THAT(removed({.bytes = 1}), UnorderedElementsAre("id-of-young", "id-of-of-a"));
}

// Another run may have the name of one that was removed.
TEST_F(RetentionTest, AFileThatIsAnotherOneByNowHasItsOwnSender) {
  for (int days : {3, 2, 1}) write("r" + std::to_string(days), days, true, true, days == 3 ? "a" : "b");
  EXPECT_THAT(removed({.bytes = 3 * size("r1") - 1}), ElementsAre("id-of-r2"));
  fs::remove(folder_ / "r1.castscope");
  write("r1", 0, true, true, "a");
  write("r2", 1, true, true, "b");
  now_ns_ += 3 * kMinuteNs;
  EXPECT_THAT(removed({.bytes = 3 * size("r2") - 1}), ElementsAre("id-of-r3"));
}

TEST_F(RetentionTest, AFileThatIsNoReportOfTheRunStaysWhereTheReportWouldBe) {
  write("old", 8);
  std::ofstream(folder_ / "old.json") << R"({"my own": "notes"})";
  SendersOfFiles senders;
  EXPECT_EQ(remove_what_is_over(folder_ / "", {.days = 7}, now_ns_, senders, read_).size(), 1u);
  EXPECT_FALSE(fs::exists(folder_ / "old.castscope"));
  EXPECT_TRUE(fs::exists(folder_ / "old.json"));
}

TEST_F(RetentionTest, AFileThatSomebodyWritesStays) {
  write("old", 8);
  OutputClaim claim;
  ASSERT_TRUE(claim.take(folder_ / "old"));
  EXPECT_THAT(removed({.days = 7}), IsEmpty());
  claim.release();
  EXPECT_THAT(removed({.days = 7}), ElementsAre("id-of-old"));
}

// A file that was copied back has a new time, and an end that was long ago.
TEST_F(RetentionTest, AFileThatIsNewHereIsKeptAsLongAsOthers) {
  write("restored", 8);
  fs::last_write_time(folder_ / "restored.castscope", fs::file_time_type::clock::now());
  EXPECT_THAT(removed({.days = 7}), IsEmpty());
}

}  // namespace
}  // namespace castscope::cli
