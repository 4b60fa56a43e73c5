#include "server/cli/serving/heading_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "server/cli/recording/recording.h"
#include "server/cli/serving/heading_json.h"
#include "server/store/testing/opened_files.h"
#include "server/store/testing/run_folder.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

class HeadingIndexTest : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_ / (name + ".castscope"); }
  void write(const std::string& name, bool ended = true) const {
    auto store = store::RunStore::create(file(name), {.run_id = "id-of-" + name, .collected = true});
    ASSERT_TRUE(store.ok()) << store.status().message();
    if (ended) ASSERT_TRUE((*store)->finish({.end_ns = 9, .exit_status = 3, .complete = true}).ok());
    ASSERT_TRUE((*store)->close().ok());
  }
  // An index whose clock is an hour ahead: it keeps each file that it reads, since none changed a moment ago.
  HeadingIndex later() const {
    return {folder_ / "", [] { return realtime_ns() + 3'600'000'000'000; }};
  }
  // How many of these files are opened by a collector that is started now, which finds in each of them its own run.
  int opened_of(const std::vector<std::string>& names) const {
    HeadingIndex index = later();
    const store::OpenedFiles opened(folder_ / "");
    for (const std::string& name : names) {
      const auto heading = index.read(file(name));
      EXPECT_TRUE(heading.ok()) << heading.status().message();
      if (heading.ok()) EXPECT_EQ(heading->start.run_id, "id-of-" + name);
    }
    index.tidy();
    EXPECT_EQ(opened.count() > 0, index.files_opened() > 0);
    return static_cast<int>(index.files_opened());
  }
  std::string text() const {
    std::ifstream stream(index_);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void put(const std::string& text) const { std::ofstream(index_) << text; }

  store::RunFolder folder_;
  const fs::path index_ = folder_ / ".castscope-serve.index";
};

TEST_F(HeadingIndexTest, TheNextCollectorOpensNoFinishedRun) {
  write("a"), write("b");
  EXPECT_EQ(opened_of({"a", "b"}), 2);
  EXPECT_EQ(opened_of({"a", "b"}), 0);
  write("c");
  EXPECT_EQ(opened_of({"a", "b", "c"}), 1);
  EXPECT_EQ(opened_of({"a", "b", "c"}), 0);
}

TEST_F(HeadingIndexTest, ARunThatGoesOnIsAlwaysRead) {
  write("open", false);
  EXPECT_EQ(opened_of({"open"}), 1);
  EXPECT_EQ(opened_of({"open"}), 1);
}

TEST_F(HeadingIndexTest, AFileBesideWhichSqliteKeepsALogIsRead) {
  write("a");
  EXPECT_EQ(opened_of({"a"}), 1);
  std::ofstream(file("a") + "-wal") << "";
  EXPECT_EQ(opened_of({"a"}), 1);
}

TEST_F(HeadingIndexTest, AFileThatChangedAMomentAgoIsNotKept) {
  write("a");
  HeadingIndex now(folder_ / "", realtime_ns);
  EXPECT_TRUE(now.read(file("a")).ok());
  EXPECT_FALSE(fs::exists(index_));
}

TEST_F(HeadingIndexTest, AChangedOrExchangedFileIsReadAndToldAsItIs) {
  write("a"), write("b");
  EXPECT_EQ(opened_of({"a", "b"}), 2);
  const auto before = fs::last_write_time(file("a"));
  auto database = store::Database::open(file("a"), SQLITE_OPEN_READWRITE);
  ASSERT_TRUE(database.ok() && database->exec("UPDATE run SET value = 4 WHERE key = 'exit_code'").ok());
  ASSERT_TRUE(database->close().ok());
  fs::last_write_time(file("a"), before);  // the size is what it was, too: the time of the change of both is not
  HeadingIndex index = later();
  EXPECT_EQ(index.read(file("a"))->end->exit_status, 4);
  fs::rename(file("a"), file("b"));
  EXPECT_EQ(index.read(file("b"))->start.run_id, "id-of-a");
  EXPECT_TRUE(absl::IsNotFound(index.read(file("a")).status()));
}

TEST_F(HeadingIndexTest, ADamagedRunIsNotTakenForASoundOne) {
  write("a");
  EXPECT_EQ(opened_of({"a"}), 1);
  fs::resize_file(file("a"), 8192);
  HeadingIndex index = later();
  (void)index.read(file("a"));
  (void)index.read(file("a"));
  EXPECT_EQ(index.files_opened(), 2u) << "what is cut short is never kept";
  std::ofstream(file("a")) << "rubbish";
  EXPECT_FALSE(index.read(file("a")).ok());
}

// Each line of the index in turn loses a digit, and is followed by nothing.
TEST_F(HeadingIndexTest, WhatIsDamagedOfTheIndexIsReadFromTheFiles) {
  write("a"), write("b");
  ASSERT_EQ(opened_of({"a", "b"}), 2);
  const std::string whole = text();
  for (std::size_t at = 0; at < whole.size(); at += 7) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    put(damaged);
    EXPECT_GE(opened_of({"a", "b"}), 1) << "byte " << at;
    EXPECT_EQ(text(), whole) << "byte " << at;
    put(whole.substr(0, at));
    EXPECT_GE(opened_of({"a", "b"}), 1) << "cut after byte " << at;
    EXPECT_EQ(opened_of({"a", "b"}), 0) << "cut after byte " << at;
  }
}

TEST_F(HeadingIndexTest, TheIndexOfAnotherCastscopeIsMadeAnew) {
  write("a");
  ASSERT_EQ(opened_of({"a"}), 1);
  std::string other = text();
  put(other.replace(other.find("index 1"), 7, "index 0"));
  EXPECT_EQ(opened_of({"a"}), 1);
  EXPECT_EQ(opened_of({"a"}), 0);
}

TEST_F(HeadingIndexTest, WhatOthersMayHaveWrittenIsNotBelieved) {
  write("a");
  ASSERT_EQ(opened_of({"a"}), 1);
  fs::permissions(index_, fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(opened_of({"a"}), 1);
  EXPECT_EQ(opened_of({"a"}), 0) << "it was replaced";
  const fs::path elsewhere = folder_ / "elsewhere";
  fs::rename(index_, elsewhere);
  fs::create_symlink(elsewhere, index_);
  const auto before = fs::last_write_time(elsewhere);
  EXPECT_EQ(opened_of({"a"}), 1);
  EXPECT_FALSE(fs::is_symlink(index_));
  EXPECT_EQ(fs::last_write_time(elsewhere), before);
}

TEST_F(HeadingIndexTest, WhereItCannotBeKeptRunsAreReadAllTheSame) {
  write("a");
  fs::create_directories(index_ / "x");
  EXPECT_EQ(opened_of({"a"}), 1);
  EXPECT_EQ(opened_of({"a"}), 1);
}

TEST_F(HeadingIndexTest, AnIndexWithManyLinesOfFilesThatAreGoneIsWrittenAnew) {
  write("a");
  ASSERT_EQ(opened_of({"a"}), 1);
  const std::string whole = text();
  const std::string line = whole.substr(whole.find('\n') + 1);
  std::string long_one = whole;
  for (int i = 0; i < 1'100; ++i) long_one += line;
  put(long_one);
  EXPECT_EQ(opened_of({"a"}), 0);
  EXPECT_EQ(text(), whole);
}

TEST(HeadingJsonTest, AllOfAHeadingComesBack) {
  const store::RunHeading heading{
      .start = {.run_id = "id",
                .command = {"python", "a b.py\n"},
                .cwd = "/cwd",
                .host = "höst",
                .castscope_version = "1",
                .start_ns = 7,
                .deep = "deep",
                .gpu = "gpu",
                .keep = "all",
                .collected = true,
                .continued = true,
                .checkout = "/checkout",
                .owner = "owner",
                .sender = "sender",
                .git = {.commit = "c", .branch = "b", .origin = "o", .dirty = false},
                .source_withheld = "all"},
      .end = store::RunEnd{.end_ns = 8, .exit_status = {}, .signal = 9, .complete = true, .unseen = "unseen"},
      .events = 1ull << 63,
      .acknowledged = 5,
      .farewell = true,
      .whole = true};
  const auto json = json_of(heading);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->find('\n'), std::string::npos);
  const auto back = heading_of(*json);
  ASSERT_TRUE(back);
  EXPECT_EQ(json_of(*back), json);
  EXPECT_EQ(back->start.command, heading.start.command);
  EXPECT_EQ(back->start.git.dirty, std::optional(false));
  EXPECT_EQ(back->end->signal, 9);
  EXPECT_EQ(back->end->exit_status, std::nullopt);
  EXPECT_EQ(back->events, heading.events);
}

TEST(HeadingJsonTest, ATextThatIsNotUtf8IsNotKeptAsAnotherOne) {
  EXPECT_FALSE(json_of({.start = {.cwd = "/caf\xe9"}}));
  EXPECT_FALSE(heading_of("{}"));
  EXPECT_FALSE(heading_of("["));
}

}  // namespace
}  // namespace castscope::cli
