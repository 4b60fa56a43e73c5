#include "server/report/compare/pipe_input.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
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

constexpr std::size_t kMost = 1 << 20;

class PipeInputTest : public ::testing::Test {
 protected:
  PipeInputTest() { EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0); }
  store::RunFolder folder_;
  const std::string path_ = (folder_ / "pipe").string();
};

TEST_F(PipeInputTest, APipeThatNobodyWritesToIsNotWaitedFor) {
  EXPECT_TRUE(is_pipe(path_));
  EXPECT_EQ(read_pipe(path_, kMost, milliseconds(0)).status().message(),
            path_ + " cannot be read: it is a pipe, and nobody writes to it");
}

TEST_F(PipeInputTest, AllThatIsWrittenIsRead) {
  const std::string text(300'000, 'x');  // more than a pipe holds
  std::thread writer([&] { std::ofstream(path_) << text; });
  EXPECT_EQ(read_pipe(path_, kMost).value(), text);
  writer.join();
}

TEST_F(PipeInputTest, OfAWriterWithoutEndLittleMoreIsReadThanAsked) {
  signal(SIGPIPE, SIG_IGN);
  std::thread writer([&] {
    const int writing = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    while (write(writing, "0123456789abcdef", 16) > 0) {
    }
    close(writing);
  });
  const std::string text = read_pipe(path_, kMost).value();
  EXPECT_GT(text.size(), kMost);
  EXPECT_LE(text.size(), kMost + (1 << 16));
  writer.join();
}

// A writer is there, however late it writes.
TEST_F(PipeInputTest, AWriterThatHasWrittenNothingYetIsWaitedFor) {
  signal(SIGPIPE, SIG_IGN);
  const int first_reader = open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const int writing = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  close(first_reader);
  std::thread writer([writing] {
    while (write(writing, "late", 4) < 0 && errno == EPIPE) std::this_thread::yield();  // nobody reads yet
    close(writing);
  });
  EXPECT_EQ(read_pipe(path_, kMost, milliseconds(0)).value(), "late");
  writer.join();
}

TEST_F(PipeInputTest, AReportComesThroughAPipe) {
  std::thread writer([&] { std::ofstream(path_) << "{}"; });
  EXPECT_THAT(std::string(read_account(path_, {}).status().message()), ::testing::HasSubstr("report"));
  writer.join();
}

}  // namespace
}  // namespace castscope::report
