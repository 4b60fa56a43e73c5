#include "server/cli/job/nothing_seen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace castscope::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(ScriptOf, IsTheFileThatPythonRuns) {
  EXPECT_EQ(script_of({"python", "train.py", "--lr", "3"}), "train.py");
  EXPECT_EQ(script_of({"/venv/bin/python3.11", "-uB", "-W", "error", "-Xdev", "-X", "dev", "a/train"}), "a/train");
  EXPECT_EQ(script_of({"python", "--check-hash-based-pycs", "never", "-Werror", "x.py"}), "x.py");
  EXPECT_EQ(script_of({"env", "LR=3", "python", "x.py"}), "x.py");
  EXPECT_EQ(script_of({"timeout", "10", "python", "x.py"}), "x.py");
}

TEST(ScriptOf, IsNoneWhereThatIsNotClear) {
  const std::vector<std::vector<std::string>> unclear = {{},
                                                         {"python"},
                                                         {"python", "-"},
                                                         {"python", "-c", "x.py"},
                                                         {"python", "-um", "pkg", "x.py"},
                                                         {"sh", "-c", "python x.py"},
                                                         {"torchrun", "x.py"},
                                                         {"grep", "python", "x.py"},
                                                         {"env", "-C", "folder", "python", "x.py"},
                                                         {"env", "LR=3", "x.py"}};
  for (const auto& command : unclear) EXPECT_EQ(script_of(command), "");
}

class WhyNothingWasSeen : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "nothing-seen-" + std::to_string(getpid());
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string written(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  std::string folder_;
};

TEST_F(WhyNothingWasSeen, AScriptThatIsNotThere) {
  const std::string script = folder_ + "/nosuch.py";
  const NothingSeen why = why_nothing_was_seen({"/usr/bin/python3", script}, {.exit_status = 2});
  EXPECT_EQ(why.sentence, "there is no script " + script + ": nothing was recorded, and no files are left");
  EXPECT_TRUE(why.never_began);
}

// A script may end with 2 itself: argparse does.
TEST_F(WhyNothingWasSeen, AScriptThatIsThereHasRun) {
  const std::string script = written("there.py", "import sys\nsys.exit(2)\n");
  EXPECT_FALSE(why_nothing_was_seen({"/usr/bin/python3", script}, {.exit_status = 2}).never_began);
}

TEST_F(WhyNothingWasSeen, AScriptWithASyntaxError) {
  const std::string wrong = written("wrong.py", "def f(:\n"), right = written("right.py", "raise ValueError\n");
  const NothingSeen why = why_nothing_was_seen({"/usr/bin/python3", wrong}, {.exit_status = 1});
  EXPECT_THAT(why.sentence, StartsWith(wrong + " cannot be compiled, so that no line of it ran: nothing was recorded"));
  EXPECT_TRUE(why.never_began);
  EXPECT_FALSE(why_nothing_was_seen({"/usr/bin/python3", right}, {.exit_status = 1}).never_began);
}

TEST_F(WhyNothingWasSeen, APythonWithoutPyTorch) {
  const NothingSeen why = why_nothing_was_seen({"/usr/bin/python3", "-I", "-S", "-c", "print(1)"}, {.exit_status = 0});
  EXPECT_EQ(why.sentence, "no process with PyTorch was seen: the job's Python, /usr/bin/python3, has no PyTorch");
  EXPECT_FALSE(why.never_began);
}

TEST_F(WhyNothingWasSeen, AnotherProgram) {
  EXPECT_THAT(why_nothing_was_seen({"true"}, {.exit_status = 0}).sentence,
              StartsWith("no process with PyTorch was seen: castscope sees a process only if"));
  EXPECT_THAT(why_nothing_was_seen({"false"}, {.exit_status = 1}).sentence, HasSubstr("before the job failed"));
  EXPECT_THAT(why_nothing_was_seen({"false"}, {.signal = 9}).sentence, EndsWith("statically linked"));
}

}  // namespace
}  // namespace castscope::cli
