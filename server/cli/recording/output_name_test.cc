#include "server/cli/recording/output_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class OutputName : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("output-name-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    before_ = fs::current_path();
    fs::current_path(folder_);
  }
  void TearDown() override {
    fs::current_path(before_);
    fs::remove_all(folder_);
  }
  std::string chosen(const std::string& wish, bool force = false) {
    auto output = choose_output(wish, {"python", "train.py"}, "20261121-110700", force, claim_);
    return output.ok() ? fs::relative(output->stem, folder_).string() : std::string(output.status().message());
  }
  void touch(const std::string& name) { std::ofstream(folder_ / name) << "x"; }
  fs::path folder_, before_;
  OutputClaim claim_;
};

// A link's end may be anywhere, and root may write there; a pipe's writer waits for a reader.
TEST_F(OutputName, WhetherItCanBeWrittenIsAskedWithoutOpeningWhatHasItsName) {
  fs::create_symlink(folder_ / "elsewhere", folder_ / "run.castscope");
  ASSERT_EQ(mkfifo((folder_ / "run.json").c_str(), 0600), 0);
  EXPECT_TRUE(check_writable({(folder_ / "run").string()}).ok());
  EXPECT_FALSE(fs::exists(folder_ / "elsewhere"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
  fs::create_directory(folder_ / "folder.castscope");
  EXPECT_THAT(std::string(check_writable({(folder_ / "folder").string()}).message()), HasSubstr("Is a directory"));
  EXPECT_THAT(std::string(check_writable({(folder_ / "none/run").string()}).message()), HasSubstr("No such file"));
}

TEST_F(OutputName, DefaultTellsScriptAndTime) { EXPECT_EQ(chosen(""), "train-20261121-110700"); }
TEST_F(OutputName, DefaultNeverMeetsAnExistingFile) {
  touch("train-20261121-110700.json");
  EXPECT_EQ(chosen(""), "train-20261121-110700-2");
}
TEST_F(OutputName, RanksThatAreGivenOneNameDoNotMeet) {
  EXPECT_EQ(named_for_rank("run.json", "rank3"), "run-rank3");
  EXPECT_EQ(named_for_rank("run", ""), "run");
  EXPECT_EQ(named_for_rank("", "rank3"), "");
  EXPECT_EQ(named_for_rank("runs/", "rank3"), "runs/");
  fs::create_directory(folder_ / "here");
  EXPECT_EQ(named_for_rank("here", "rank3"), "here");
  EXPECT_THAT(time_for_names("rank3"), MatchesRegex("rank3-[0-9]{8}-[0-9]{6}"));
}
TEST_F(OutputName, SuffixIsDropped) {
  EXPECT_EQ(chosen("a.castscope"), "a");
  EXPECT_EQ(chosen("a.json"), "a");
  EXPECT_EQ(chosen("a"), "a");
  EXPECT_EQ(chosen("a.castscope.json"), "a");
}
TEST_F(OutputName, AFolderThatIsRunNamesTheRun) {
  fs::create_directory(folder_ / "tool");
  EXPECT_EQ(telling_name({"python", "tool/"}), "python");
  touch("tool/__main__.py");
  EXPECT_EQ(telling_name({"python", "tool/"}), "tool");
}
TEST_F(OutputName, NumbersAreNoSuffix) {
  EXPECT_EQ(chosen("lr0.001"), "lr0.001");
  EXPECT_EQ(chosen("model.v2"), "model.v2");
}
TEST_F(OutputName, LettersAreNoSuffix) {
  EXPECT_EQ(chosen("a.deep"), "a.deep");
  EXPECT_EQ(chosen("b.out"), "b.out");
  EXPECT_EQ(chosen("c.deep.castscope"), "c.deep");
  EXPECT_EQ(chosen("d.JSON"), "d.JSON");
}
TEST_F(OutputName, NamesThatDifferInTheirSuffixDoNotMeet) {
  touch("a.castscope");
  EXPECT_EQ(chosen("a.deep"), "a.deep");
  touch("a.deep.castscope");
  EXPECT_THAT(chosen("a.deep"), HasSubstr("a.deep.castscope or .json"));
}
TEST_F(OutputName, ANameThatIsOnlyASuffixStays) { EXPECT_EQ(chosen(".json"), ".json"); }
TEST_F(OutputName, FolderGetsTheDefaultInside) {
  fs::create_directory(folder_ / "out.d");
  EXPECT_EQ(chosen("out.d"), "out.d/train-20261121-110700");
  EXPECT_EQ(chosen("new/"), "new/train-20261121-110700");
}
TEST_F(OutputName, MissingParentsAreMade) {
  EXPECT_EQ(chosen("deep/er/run"), "deep/er/run");
  EXPECT_TRUE(fs::is_directory(folder_ / "deep/er"));
}
TEST_F(OutputName, ExistingFileIsRefusedWithoutForce) {
  touch("a.json");
  EXPECT_THAT(chosen("a"), HasSubstr("--force"));
  EXPECT_EQ(chosen("a", true), "a");
}
TEST_F(OutputName, WhatIsBeingWrittenIsNotTaken) {
  EXPECT_EQ(chosen("a"), "a");
  OutputClaim other;
  EXPECT_FALSE(other.take((folder_ / "a").string()));
  claim_.release();
  EXPECT_TRUE(other.take((folder_ / "a").string()));
  EXPECT_THAT(chosen("a", true), HasSubstr("is being written by another castscope"));
  EXPECT_TRUE(other.take((folder_ / "train-20261121-110700").string()));
  EXPECT_EQ(chosen(""), "train-20261121-110700-2");
}
TEST_F(OutputName, ANameThatIsTooLongForAFileIsShortened) {
  const std::string letters(300, 'x');
  EXPECT_EQ(chosen(letters + ".json"), std::string(230, 'x'));
  auto output = choose_output("in/" + letters, {"train"}, "now", false, claim_);
  ASSERT_TRUE(output.ok());
  EXPECT_TRUE(check_writable(*output).ok()) << check_writable(*output);
  std::string umlauts;
  for (int i = 0; i < 150; ++i) umlauts += "\xc3\xbc";
  EXPECT_EQ(chosen("x" + umlauts), "x" + umlauts.substr(0, 228)) << "no letter is cut in two";
  EXPECT_EQ(chosen(named_for_rank(letters, "rank3")), std::string(200, 'x') + "-rank3");
}
TEST_F(OutputName, UnwritableIsASentence) {
  auto status = check_writable({"/proc/nowhere/x"});
  EXPECT_THAT(std::string(status.message()), HasSubstr("/proc/nowhere/x.castscope cannot be written"));
}
TEST_F(OutputName, DeviceIsNoPlaceForARun) {
  auto status = check_writable({"/dev/null"});
  EXPECT_THAT(std::string(status.message()), HasSubstr("/dev/null cannot be written: it is a device"));
}
TEST_F(OutputName, CheckingLeavesNothingAndDestroysNothing) {
  touch("a.json");
  EXPECT_TRUE(check_writable({(folder_ / "a").string()}).ok());
  EXPECT_FALSE(fs::exists(folder_ / "a.castscope"));
  EXPECT_EQ(fs::file_size(folder_ / "a.json"), 1u);
}

TEST(TellingName, OfManyCommands) {
  EXPECT_EQ(telling_name({"python", "-u", "src/train.py", "--lr", "3"}), "train");
  EXPECT_EQ(telling_name({"torchrun", "--nproc-per-node", "2", "-m", "pkg.trainer"}), "trainer");
  EXPECT_EQ(telling_name({"python3.11", "-c", "print('x.py')"}), "python3");
  EXPECT_EQ(telling_name({"/usr/bin/make", "all"}), "make");
  EXPECT_EQ(telling_name({"python", "näch ste.py"}), "n__ch_ste");
  EXPECT_EQ(telling_name({}), "run");
  EXPECT_EQ(telling_name({"python", "za.pyz"}), "za");
  EXPECT_EQ(telling_name({"python", "-m", "torch.distributed.run", "--nproc-per-node", "2", "j.py"}), "j");
  EXPECT_EQ(telling_name({"python", "-m", "torch.distributed.run", "-m", "pkg.trainer"}), "trainer");
  EXPECT_EQ(telling_name({"python", "-m", "torch.distributed.run", "--help"}), "run");
}
TEST(TellingName, AKernelHasTheNameOfItsNotebook) {
  const std::vector<std::string> kernel{"python", "-m", "ipykernel_launcher", "-f", "kernel-1.json"};
  unsetenv("JPY_SESSION_NAME");
  EXPECT_EQ(telling_name(kernel), "notebook");
  setenv("JPY_SESSION_NAME", "/home/me/first try.ipynb", 1);
  EXPECT_EQ(telling_name(kernel), "first_try");
  unsetenv("JPY_SESSION_NAME");
}
TEST(TellingName, TimeIsFitForAFileName) { EXPECT_THAT(time_for_names(), MatchesRegex("[0-9]{8}-[0-9]{6}")); }

}  // namespace
}  // namespace castscope::cli
