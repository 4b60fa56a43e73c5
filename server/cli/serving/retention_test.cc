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

constexpr std::int64_t kMinuteNs = 60'000'000'000, kDayNs = 24 * 60 * kMinuteNs;

class RetentionTest : public testing::Test {
 protected:
  // A run that a collector wrote, and that ended so many days ago.
  void write(const std::string& name, int days_ago, bool ended = true, bool collected = true) {
    const std::string file = folder_ / (name + ".castscope");
    auto store = store::RunStore::create(file, {.run_id = "id-of-" + name, .collected = collected});
    ASSERT_TRUE(store.ok()) << store.status().message();
    if (ended) ASSERT_TRUE((*store)->finish({.end_ns = now_ns_ - days_ago * kDayNs, .complete = true}).ok());
    ASSERT_TRUE((*store)->close().ok());
    std::ofstream(folder_ / (name + ".json")) << "{}";
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(24 * days_ago));
  }
  std::vector<std::string> removed(const Retention& kept) {
    std::vector<std::string> names;
    for (const RemovedRun& run : remove_what_is_over(folder_ / "", kept, now_ns_)) {
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
  write("just closed", 0);
  now_ns_ += kMinuteNs;
  EXPECT_THAT(removed({.bytes = 1}), IsEmpty());
  now_ns_ += 2 * kMinuteNs;
  EXPECT_THAT(removed({.bytes = 1}), ElementsAre("id-of-just closed"));
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
