#include "server/cli/loading/trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "server/cli/toolkit/embedded.h"
#include "server/cli/toolkit/library_file.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class TrialOf : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("trial-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    preload_ = {(folder_ / "libcastscope.so").string(), (folder_ / "castscope-trivial").string()};
    ASSERT_TRUE(write_library(preload_.trivial, carried("castscope-trivial")).ok());
  }
  void TearDown() override { fs::remove_all(folder_); }
  Trial trial_with(const std::string& library) {
    EXPECT_TRUE(write_library(preload_.library, library).ok());
    return try_preload(preload_, loader_of({"/bin/sh"}));
  }
  // The library as a build that asks for a newer glibc would have it.
  static std::string doctored() {
    std::string library(carried("libcastscope.so"));
    const std::string asked = std::string("GLIBC_2.17") + '\0';
    const std::size_t at = library.find(asked);
    EXPECT_NE(at, std::string::npos);
    return library.replace(at, asked.size() - 1, "GLIBC_9.17");
  }
  fs::path folder_;
  Preload preload_;
};

TEST_F(TrialOf, TheLibraryThatTheProgramCarries) {
  const Trial trial = trial_with(std::string(carried("libcastscope.so")));
  EXPECT_THAT(trial.problem, IsEmpty());
  EXPECT_THAT(trial.glibc, StartsWith("2."));
}

TEST_F(TrialOf, ALibraryThatAsksForANewerGlibc) {
  const Trial trial = trial_with(doctored());
  EXPECT_THAT(trial.problem, HasSubstr("GLIBC_9.17"));
}

TEST_F(TrialOf, AnEmptyLibrary) { EXPECT_THAT(trial_with("").problem, HasSubstr("cannot be preloaded")); }

TEST_F(TrialOf, ALibraryThatEndsTooEarly) {
  const std::string library(carried("libcastscope.so"));
  EXPECT_NE(trial_with(library.substr(0, 4096)).problem, "");
}

TEST_F(TrialOf, ALoaderThatIsNone) {
  ASSERT_TRUE(write_library(preload_.library, carried("libcastscope.so")).ok());
  EXPECT_THAT(try_preload(preload_, {"/nonexistent/ld.so", ""}).problem, HasSubstr("/nonexistent/ld.so"));
  EXPECT_THAT(try_preload(preload_, {"/bin/false", ""}).problem, HasSubstr("ends with 1"));
  EXPECT_EQ(try_preload(preload_, {"", ""}).problem, "this system has no dynamic loader");
}

// A profiler that the job preloads would write its file.
TEST_F(TrialOf, LeavesOutWhatElseIsPreloaded) {
  setenv("LD_PRELOAD", "/nonexistent.so", 1);
  EXPECT_EQ(trial_with(std::string(carried("libcastscope.so"))).problem, "");
  unsetenv("LD_PRELOAD");
}

}  // namespace
}  // namespace castscope::cli
