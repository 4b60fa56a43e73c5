#include "server/cli/serving/run_shelf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "server/cli/recording/descriptors.h"
#include "server/store/testing/run_folder.h"
#include "server/web/runs/file_run.h"
#include "server/web/runs/runs.h"

namespace castscope::cli {
namespace {

using testing::HasSubstr;

// A collector that may have some forty files open besides those that it leaves over.
class RunShelfTest : public testing::Test {
 protected:
  RunShelfTest() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few = before_;
    few.rlim_cur = descriptors_in_use() + 64 + 40;
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~RunShelfTest() override { setrlimit(RLIMIT_NOFILE, &before_); }
  absl::Status open(const std::string& sender) {
    return shelf_.keeper().open({.id = absl::StrCat("run-", ++number_), .sender = sender}).status();
  }
  // Opens runs until one is refused: how many there are, and the sentence.
  std::pair<int, std::string> open_all_of(const std::string& sender) {
    for (int many = 0; many < 100; ++many)
      if (const absl::Status status = open(sender); !status.ok()) return {many, std::string(status.message())};
    return {100, ""};
  }

  rlimit before_{};
  int number_ = 0;
  store::RunFolder folder_;
  Metrics metrics_;
  RunShelf shelf_{ServeConfig{.folder = folder_ / "", .fsync = "checkpoint"}, nullptr, &metrics_};
};

TEST_F(RunShelfTest, ASenderGetsThreeQuartersOfThePlacesAndLeavesTheOthers) {
  const auto [of_one, sentence] = open_all_of("one");
  EXPECT_THAT(sentence, HasSubstr("the sender \"one\" has "));
  EXPECT_THAT(sentence, HasSubstr("leaves the other places to others"));
  const auto [of_other, why] = open_all_of("other");
  EXPECT_THAT(why, HasSubstr("may have"));
  EXPECT_GE(of_one, 2 * of_other);
  EXPECT_GE(of_other, 2);
}

TEST_F(RunShelfTest, SaysWhyNoRunBeginsUntilOneDoes) {
  EXPECT_EQ(shelf_.why_none_begins(), "");
  RunShelf shelf(ServeConfig{.folder = folder_ / "later", .fsync = "checkpoint"}, nullptr, &metrics_);
  EXPECT_FALSE(shelf.keeper().open({.id = "one"}).ok());
  EXPECT_THAT(shelf.why_none_begins(), HasSubstr("one.castscope: the run file cannot be created (No such file"));
  EXPECT_EQ(shelf.why_none_begins(RunShelf::Clock::now() + RunShelf::kNoneBegins), "") << "it may be tried again";
  std::filesystem::create_directory(folder_ / "later");
  EXPECT_TRUE(shelf.keeper().open({.id = "two"}).ok());
  EXPECT_EQ(shelf.why_none_begins(), "");
}

// What an earlier collector left open is nobody's until a relay comes for it.
TEST_F(RunShelfTest, ARunThatWasTakenUpIsOneOfWhoeverSendsIt) {
  const auto [many, sentence] = open_all_of("");
  ASSERT_GE(many, 9);
  const ingest::RunKeeper keeper = shelf_.keeper();
  for (int i = 1; i <= many; ++i) keeper.let_in({.id = absl::StrCat("run-", i), .sender = "one"});
  keeper.close("run-1", {});
  EXPECT_THAT(std::string(open("one").message()), HasSubstr("the sender \"one\" has "));
  EXPECT_TRUE(open("other").ok());
}

// A run file that was copied into the folder, under a name that no URL has.
TEST_F(RunShelfTest, ARunThatBeginsTakesNoAddressAtThePage) {
  folder_.begin_run("my run");
  const auto viewed = std::make_shared<web::Runs>();
  viewed->watch_folder(folder_ / "", [](const std::string& id, const std::string& file) -> web::RunPtr {
    return std::make_shared<web::FileRun>(id, file, web::FileRunOptions());
  });
  RunShelf shelf(ServeConfig{.folder = folder_ / "", .fsync = "checkpoint"}, viewed, &metrics_);
  EXPECT_TRUE(shelf.keeper().open({.id = "new", .name = "my_run"}).ok());
  EXPECT_EQ(viewed->all().size(), 2u);
  EXPECT_EQ(viewed->find("my_run")->file(), folder_ / "my run.castscope");
  EXPECT_EQ(viewed->find("my_run-2")->file(), folder_ / "my_run.castscope");
}

TEST_F(RunShelfTest, WithoutTokensTheOneSenderHasAllPlaces) {
  const auto [many, why] = open_all_of("");
  EXPECT_THAT(why, HasSubstr("may have"));
  EXPECT_GE(many, 9);
}

}  // namespace
}  // namespace castscope::cli
