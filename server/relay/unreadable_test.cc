#include "server/relay/unreadable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "agent/lanes/segment_writer.h"

namespace castscope::relay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class UnreadableTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/unreadable-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  void write(const std::string& name, char byte) const {
    std::ofstream(directory_ + "/" + name) << std::string(1 << 16, byte);
  }
  std::string directory_;
};

TEST_F(UnreadableTest, SaysWhyOfEachSegmentUnlessOneCanBeRead) {
  EXPECT_THAT(why_unreadable(directory_), ElementsAre());
  EXPECT_THAT(why_unreadable(directory_ + "/nowhere"), ElementsAre());
  write("7.attached", 'x');
  write("7-0.lanes", '\0');  // begun, but still empty
  EXPECT_THAT(why_unreadable(directory_), ElementsAre());
  write("8-0.lanes", 'x');
  EXPECT_THAT(why_unreadable(directory_), ElementsAre(HasSubstr("8-0.lanes cannot be read: it is not a segment")));
  std::string error;
  const std::unique_ptr<lanes::SegmentWriter> writer(lanes::SegmentWriter::create({.directory = directory_,
                                                                                   .ring_events = 1024,
                                                                                   .max_bytes = lanes::kMaxSegmentBytes,
                                                                                   .clock = lanes::Clock::kMonotonicNs},
                                                                                  &error));
  ASSERT_NE(writer, nullptr) << error;
  EXPECT_THAT(why_unreadable(directory_), ElementsAre());
}

}  // namespace
}  // namespace castscope::relay
