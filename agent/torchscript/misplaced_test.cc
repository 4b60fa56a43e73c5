#include "agent/torchscript/misplaced.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace castscope::script {
namespace {

class MisplacedTest : public ::testing::Test {
 protected:
  MisplacedTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "castscope-misplaced-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    file_ = (folder_ / "net.py").string();
    std::ofstream(file_) << "import torch\n"
                            "class Net:\n"
                            "    @torch.autocast(\"cpu\")\n"
                            "    def forward(self, x):\n"
                            "        return x\n";
  }
  ~MisplacedTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  std::string file_;
};

constexpr const char* kForward = "@torch.autocast(\"cpu\")\ndef forward(self, x):\n    return x\n";
constexpr const char* kClass = "class Net:\n    @torch.autocast(\"cpu\")\n";

TEST_F(MisplacedTest, LinesStandInTheirFileWhateverTheirIndentation) {
  EXPECT_TRUE(stands_in_its_file({file_, kForward, 3}));
  EXPECT_FALSE(stands_in_its_file({file_, kForward, 2}));
  EXPECT_FALSE(stands_in_its_file({file_, kForward, 30}));  // behind its end
  EXPECT_FALSE(stands_in_its_file({file_, std::string(kForward) + "    # more than the file has\n", 3}));
}

TEST_F(MisplacedTest, WhatCannotBeReadIsBelieved) {
  EXPECT_TRUE(stands_in_its_file({"<stdin>", kForward, 3}));
  EXPECT_TRUE(stands_in_its_file({folder_.string(), kForward, 3}));
}

TEST_F(MisplacedTest, PythonIsAskedWhatBecameOfDecorators) {
  look_at_file({file_, kForward, 3});
  EXPECT_EQ(take_unasked().size(), 1u);
}

TEST_F(MisplacedTest, PythonIsAskedOnceAndItsAnswerIsTheFile) {
  const ToldSource wrong{file_, kClass, 1}, right{file_, kClass, 2};
  look_at_file(right);
  EXPECT_FALSE(any_unasked());
  look_at_file(wrong);
  look_at_file(wrong);
  EXPECT_TRUE(any_unasked());
  const auto unasked = take_unasked();
  ASSERT_EQ(unasked.size(), 1u);
  EXPECT_FALSE(any_unasked());

  const std::uint32_t number = misplaced_number(wrong);
  EXPECT_EQ(unasked.front().first, number);
  EXPECT_EQ(misplaced_number(right), 0u);
  CodeLine frame{file_, "forward", 2, number};
  EXPECT_EQ(file_of(frame), file_);
  found_in(number, "/true.py");
  EXPECT_EQ(file_of(frame), "/true.py");
  frame.misplaced = 0;
  EXPECT_EQ(file_of(frame), file_);
}

}  // namespace
}  // namespace castscope::script
