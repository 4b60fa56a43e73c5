#include "server/cli/job/armed_job.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace castscope::cli {
namespace {

class ArmedJobTest : public ::testing::Test {
 protected:
  void TearDown() override {
    unsetenv("CASTSCOPE_ARMED");
    unsetenv("CASTSCOPE_ENFORCE");
    directory_.discard();
  }
  bool says(bool somebody_attached, const std::string& words) const {
    return why_unwatched(directory_, somebody_attached).find(words) != std::string::npos;
  }
  RunDirectory directory_ = RunDirectory::create().value();
};

TEST_F(ArmedJobTest, TheVariableArmsAsTheProcessesUnderstandIt) {
  EXPECT_FALSE(is_armed_by_environment());
  for (const char* value : {"1", "yes", "00"}) {
    setenv("CASTSCOPE_ARMED", value, 1);
    EXPECT_TRUE(is_armed_by_environment()) << value;
  }
  for (const char* value : {"", "0"}) {
    setenv("CASTSCOPE_ARMED", value, 1);
    EXPECT_FALSE(is_armed_by_environment()) << value;
  }
  setenv("CASTSCOPE_ARMED", "1", 1);
  setenv("CASTSCOPE_ENFORCE", "/policy", 1);
  EXPECT_FALSE(is_armed_by_environment());
}

TEST_F(ArmedJobTest, WhyNothingWasWatched) {
  EXPECT_TRUE(says(false, "nobody attached to it"));
  EXPECT_TRUE(says(true, "autocast was not used after that"));
  directory_.note("this process runs unobserved: no agent fits");
  EXPECT_EQ(why_unwatched(directory_, true), "");
  std::ofstream(directory_.path() + "/1.attached");
  EXPECT_EQ(why_unwatched(directory_, false), "");
}

}  // namespace
}  // namespace castscope::cli
