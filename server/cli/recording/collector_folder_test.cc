#include "server/cli/recording/collector_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "server/store/testing/opened_files.h"
#include "server/store/testing/run_folder.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CollectorFolderTest : public ::testing::Test {
 protected:
  // Writes NAME.castscope as a collector does, up to its end or not.
  void write(const std::string& name, const std::string& run_id, bool ended, bool collected = true,
             std::uint64_t acknowledged = 0) const {
    auto store = store::RunStore::create(folder_ / (name + ".castscope"), {.run_id = run_id, .collected = collected});
    ASSERT_TRUE(store.ok()) << store.status().message();
    ASSERT_TRUE((*store)->relay({.relay = "r", .acknowledged = acknowledged}).ok());
    if (ended) ASSERT_TRUE((*store)->finish({.end_ns = 9, .complete = true}).ok());
    ASSERT_TRUE((*store)->close().ok());
  }
  void touch(const std::string& name) const { std::ofstream(folder_ / name) << "x"; }
  CollectorFolder read(const std::string& folder = "") const {
    return CollectorFolder(folder_ / folder, [](const std::string& file) { return store::read_heading(file); });
  }
  static std::string place(CollectorFolder& folder, const std::string& run_id, const std::string& wish) {
    return fs::path(folder.place({.id = run_id, .name = wish}).stem).filename();
  }
  static std::vector<std::string> left_open(const CollectorFolder& folder) {
    std::vector<std::string> names;
    for (const ingest::RunOpening& run : folder.left_open()) names.push_back(run.id + " in " + run.name);
    return names;
  }
  store::RunFolder folder_;
};

TEST_F(CollectorFolderTest, NoRunTakesTheNameOfSettingsOrOfAnOption) {
  CollectorFolder folder = read();
  EXPECT_EQ(place(folder, "a", "castscope"), "run-castscope");
  EXPECT_EQ(place(folder, "b", "CastScope"), "run-CastScope");
  EXPECT_EQ(place(folder, "c", "-rf"), "run-rf");
  EXPECT_EQ(place(folder, "d", "castscope2"), "castscope2");
}

TEST_F(CollectorFolderTest, ARunIsKnownByItsIdWhateverItsFileIsCalled) {
  write("old", "a", false);
  CollectorFolder folder = read();
  EXPECT_EQ(place(folder, "a", "wish"), "old");
  EXPECT_EQ(place(folder, "b", "wish"), "wish");
  EXPECT_EQ(place(folder, "b", "other"), "other") << "its file was never made";
}

TEST_F(CollectorFolderTest, AFileThatNoCollectorWritesIsLeftAlone) {
  write("mine", "a", true, /*collected=*/false);
  CollectorFolder folder = read();
  EXPECT_EQ(place(folder, "a", "mine"), "mine-2");
}

TEST_F(CollectorFolderTest, OneWhoseFileIsRenamedMeanwhileIsFoundAgain) {
  write("old", "a", false);
  CollectorFolder folder = read();
  fs::rename(folder_ / "old.castscope", folder_ / "new.castscope");
  write("old", "b", false);
  EXPECT_EQ(place(folder, "a", "old"), "new");
  EXPECT_EQ(place(folder, "b", "x"), "old");
}

TEST_F(CollectorFolderTest, OfCopiesTheOneCountsThatHasMost) {
  write("a", "run", false, true, 3);
  write("b", "run", false, true, 5);
  write("c", "run", false, true, 5);
  EXPECT_THAT(left_open(read()), ElementsAre("run in b"));
  CollectorFolder folder = read();
  EXPECT_EQ(place(folder, "run", "c"), "c");
  EXPECT_EQ(place(folder, "run", "a"), "c") << "it goes on there";
  write("d", "run", true, true, 5);
  touch("d.json");
  EXPECT_THAT(left_open(read()), IsEmpty());
}

TEST_F(CollectorFolderTest, ANameIsFreeWhereNeitherFileNorReportHasIt) {
  write("run", "a", true);
  touch("other.json");
  touch("torn.castscope");
  CollectorFolder folder = read();
  EXPECT_EQ(place(folder, "b", "run"), "run-2");
  EXPECT_EQ(place(folder, "c", "other"), "other-2");
  EXPECT_EQ(place(folder, "d", "torn"), "torn-2");
  EXPECT_EQ(place(folder, "e", "../x y"), "run.._x_y");
  EXPECT_EQ(place(folder, "f", ""), "f");
  EXPECT_EQ(place(folder, "g", std::string(400, 'x')), std::string(200, 'x'));
  EXPECT_THAT(folder.unreadable(), ElementsAre(::testing::HasSubstr("torn.castscope")));
}

// Whoever may make files in the folder could have the collector write into any run file of the machine.
TEST_F(CollectorFolderTest, ALinkIsNotFollowed) {
  fs::create_directory(folder_ / "elsewhere");
  write("elsewhere/run", "run", false);
  fs::create_symlink(folder_ / "elsewhere/run.castscope", folder_ / "link.castscope");
  CollectorFolder folder = read();
  EXPECT_THAT(left_open(folder), IsEmpty());
  EXPECT_THAT(folder.unreadable(), ElementsAre(::testing::HasSubstr("link.castscope: this is a link")));
  EXPECT_EQ(place(folder, "run", "link"), "link-2");
}

TEST_F(CollectorFolderTest, FilesInWhichNoRunWasBegunAreRemoved) {
  write("run", "a", false);
  for (const char* const name : {"stub", "claimed", "reported"}) {
    std::ofstream(folder_ / (std::string(name) + ".castscope")) << "";
    fs::permissions(folder_ / (std::string(name) + ".castscope"), fs::perms::owner_read | fs::perms::owner_write);
  }
  touch("reported.json");
  touch("torn.castscope");
  const auto is_free = [](const std::string& stem) { return !stem.ends_with("claimed"); };
  EXPECT_THAT(remove_stubs(folder_ / "", is_free), ElementsAre(folder_ / "stub.castscope"));
  EXPECT_FALSE(fs::exists(folder_ / "stub.castscope"));
  CollectorFolder folder = read();
  EXPECT_EQ(folder.unreadable().size(), 3u);
  EXPECT_EQ(place(folder, "b", "stub"), "stub");
}

// It was sound when its heading was kept, and nothing shows that it is not any more.
TEST_F(CollectorFolderTest, ARunIsPlacedInNoFileThatDoesNotHoldIt) {
  write("run", "a", true);
  const auto kept = store::read_heading(folder_ / "run.castscope");
  CollectorFolder folder(folder_ / "", [&kept](const std::string&) { return kept; });
  EXPECT_EQ(place(folder, "a", "run"), "run");
  touch("run.castscope");
  EXPECT_EQ(place(folder, "a", "run"), "run-2");
}

TEST_F(CollectorFolderTest, AFileOfAStrangerIsNotTaken) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files to others";
  constexpr uid_t kStranger = 12345;
  write("run", "run", false);
  EXPECT_EQ(left_open(read()).size(), 1u);
  ASSERT_EQ(chown((folder_ / "run.castscope").c_str(), kStranger, 0), 0);
  CollectorFolder folder = read();
  EXPECT_THAT(left_open(folder), IsEmpty());
  EXPECT_THAT(folder.unreadable(), ElementsAre(::testing::HasSubstr("belongs to another user (12345)")));
  EXPECT_EQ(place(folder, "run", "run"), "run-2");
}

TEST_F(CollectorFolderTest, RunsOfOneNameAreNotReadForTheNextOne) {
  for (const char* const name : {"job", "job-2", "job-3"}) write(name, std::string("before ") + name, true);
  touch("job-4.castscope");
  CollectorFolder folder = read();
  const store::OpenedFiles opened(folder_ / "");
  EXPECT_EQ(place(folder, "a", "job"), "job-5");
  EXPECT_EQ(opened.count(), 1) << "it is not known whose job-4 is";
  touch("job-5.castscope");
  EXPECT_EQ(place(folder, "b", "job"), "job-6");
  touch("job-6.castscope");
  EXPECT_EQ(place(folder, "c", "job"), "job-7");
  EXPECT_EQ(opened.count(), 2) << "these were opened by touch()";
}

TEST_F(CollectorFolderTest, AFileOfTheRunThatWasPutThereMeanwhileIsTaken) {
  CollectorFolder folder = read();
  write("job", "a", false);
  EXPECT_EQ(place(folder, "a", "job"), "job");
  EXPECT_EQ(place(folder, "b", "job"), "job-2");
}

TEST_F(CollectorFolderTest, RunsThatACollectorLeftOpenAreThoseWithoutAnEndOrAReport) {
  write("ended", "a", true);
  write("open", "b", false);
  write("killed", "c", true);
  touch("ended.json");
  touch("open.json");
  write("local", "d", false, /*collected=*/false);
  EXPECT_THAT(left_open(read()), ElementsAre("b in open", "c in killed"));
  EXPECT_THAT(left_open(read("nowhere")), IsEmpty());
}

}  // namespace
}  // namespace castscope::cli
