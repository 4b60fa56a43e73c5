#include "server/web/runs/runs.h"

#include <gmock/gmock.h>

#include <chrono>

#include "server/store/testing/run_store_test.h"
#include "server/web/runs/file_run.h"

namespace castscope::web {
namespace {

using ::testing::ElementsAre;

class RunsTest : public store::RunStoreTest {
 protected:
  RunsTest() {
    const auto open = [](const std::string& id, const std::string& file) -> RunPtr {
      return std::make_shared<FileRun>(id, file, FileRunOptions());
    };
    runs_.watch_folder(folder_.string(), open, std::chrono::milliseconds(0));
  }
  RunPtr run(const std::string& id, const std::string& file) {
    return std::make_shared<FileRun>(id, path(file), FileRunOptions());
  }
  std::vector<std::string> ids() {
    std::vector<std::string> ids;
    for (const RunPtr& run : runs_.all()) ids.push_back(run->id());
    return ids;
  }

  Runs runs_;
};

TEST_F(RunsTest, ARunTakesThePlaceOfOneWithItsIdOrItsFile) {
  for (const char* const name : {"a", "b", "c"}) runs_.put(run(name, name));
  const RunPtr same_id = run("b", "other"), same_file = run("d", "c");
  runs_.put(same_id);
  runs_.put(same_file);
  EXPECT_THAT(ids(), ElementsAre("a", "b", "d"));
  EXPECT_EQ(runs_.find("b"), same_id);
  EXPECT_EQ(runs_.find("d"), same_file);
  EXPECT_EQ(runs_.find("c"), nullptr);
  EXPECT_EQ(runs_.free_id("b.castscope"), "b-2");
  EXPECT_EQ(runs_.free_id("c.castscope"), "c");
}

TEST_F(RunsTest, FilesOfOneNameInTheirUrlsHaveTwoIds) {
  write(path("a b.castscope"), "");
  write(path("a_b.castscope"), "");
  EXPECT_THAT(ids(), ElementsAre("a_b", "a_b-2"));
}

// As a collector asks for the file of a run that begins.
TEST_F(RunsTest, ANewFileTakesNoAddressOfARunThatIsThere) {
  write(path("my run.castscope"), "");
  write(path("my_run.castscope"), "");
  EXPECT_EQ(runs_.id_for(path("my_run.castscope")), "my_run-2") << "nobody has looked into the folder before";
  const RunPtr there = runs_.find("my_run"), begins = run("my_run-2", "my_run.castscope");
  runs_.put(begins);
  EXPECT_THAT(ids(), ElementsAre("my_run", "my_run-2"));
  EXPECT_EQ(runs_.find("my_run"), there);
  EXPECT_EQ(runs_.find("my_run-2"), begins);
  EXPECT_EQ(runs_.id_for(path("my_run.castscope")), "my_run-2") << "it goes on";
  EXPECT_EQ(runs_.id_for("/elsewhere/my_run.castscope"), "my_run-3");
}

TEST_F(RunsTest, AFileThatIsNotOpenedIsNotShown) {
  const auto none = [](const std::string&, const std::string&) -> RunPtr { return nullptr; };
  runs_.watch_folder(folder_.string(), none, std::chrono::milliseconds(0));
  write(path("link.castscope"), "");
  EXPECT_THAT(ids(), ElementsAre());
  EXPECT_EQ(runs_.find("link"), nullptr);
}

TEST_F(RunsTest, ARunThatCameIntoTheFolderIsFound) {
  EXPECT_THAT(ids(), ElementsAre());
  write(path("late.castscope"), "");
  EXPECT_NE(runs_.find("late"), nullptr);
  EXPECT_THAT(ids(), ElementsAre("late"));
}

TEST_F(RunsTest, AFileThatCameBackIsTheRunThatItWas) {
  write(path("a.castscope"), "");
  EXPECT_FALSE(runs_.find("a")->is_gone());
  std::filesystem::rename(path("a.castscope"), path("away"));
  EXPECT_TRUE(runs_.all().front()->is_gone());
  write(path("a.castscope"), "another one in its place");
  EXPECT_THAT(ids(), ElementsAre("a"));
  EXPECT_FALSE(runs_.find("a")->is_gone());
}

TEST_F(RunsTest, AFolderIsReadAgainWhenItHasChanged) {
  const auto now = std::filesystem::file_time_type::clock::now();
  const auto changed = [&](int hours_ago) {
    std::filesystem::last_write_time(folder_, now - std::chrono::hours(hours_ago));
  };
  changed(2);
  EXPECT_THAT(ids(), ElementsAre());
  write(path("a.castscope"), "");
  changed(2);
  EXPECT_THAT(ids(), ElementsAre()) << "nothing shows that it has changed";
  changed(1);
  EXPECT_THAT(ids(), ElementsAre("a"));
}

}  // namespace
}  // namespace castscope::web
