#include "server/report/compare/pipe_input.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

#include "server/report/compare/account.h"
#include "server/store/testing/run_folder.h"

namespace castscope::report {
namespace {

using std::chrono::milliseconds;

class PipeInputTest : public ::testing::Test {
 protected:
  PipeInputTest() { EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0); }
  store::RunFolder folder_;
  const std::string path_ = (folder_ / "pipe").string();
};

TEST_F(PipeInputTest, APipeThatNobodyWritesToIsNotWaitedFor) {
  EXPECT_TRUE(is_pipe(path_));
  EXPECT_EQ(read_pipe(path_, milliseconds(0)).status().message(),
            path_ + " cannot be read: it is a pipe, and nobody writes to it");
}

TEST_F(PipeInputTest, AllThatIsWrittenIsRead) {
  const std::string text(300'000, 'x');  // more than a pipe holds
  std::thread writer([&] { std::ofstream(path_) << text; });
  EXPECT_EQ(read_pipe(path_).value(), text);
  writer.join();
}

// A writer is there, however late it writes.
TEST_F(PipeInputTest, AWriterThatHasWrittenNothingYetIsWaitedFor) {
  const int writing = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  std::thread writer([writing] {
    EXPECT_EQ(write(writing, "late", 4), 4);
    close(writing);
  });
  EXPECT_EQ(read_pipe(path_, milliseconds(0)).value(), "late");
  writer.join();
}

TEST_F(PipeInputTest, AReportComesThroughAPipe) {
  std::thread writer([&] { std::ofstream(path_) << "{}"; });
  EXPECT_THAT(std::string(read_account(path_, {}).status().message()), ::testing::HasSubstr("report"));
  writer.join();
}

}  // namespace
}  // namespace castscope::report
