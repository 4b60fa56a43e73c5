// A signal handler marks the end of a segment. lanes_test.cc has the rest of the writer, with the reader.
#include "agent/lanes/segment_writer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "agent/lanes/segment_reader.h"

namespace castscope::lanes {
namespace {

SegmentWriter* g_writer;

void end_here(int) {
  g_writer->mark_end(EndMark::kExited, 5 + 1);
  _exit(0);
}

// Runs a process that does nothing but `work`, until a handler ends it after a millisecond; SIGALRM ends it if it
// hangs.
template <typename Work>
int status_of_interrupted(Work work) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGVTALRM, end_here);
    alarm(30);
    const itimerval millisecond{{0, 0}, {0, 1000}};
    setitimer(ITIMER_VIRTUAL, &millisecond, nullptr);
    for (;;) work();
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

class SegmentEndTest : public testing::Test {
 protected:
  SegmentEndTest() : folder_(testing::TempDir() + "segment-end-" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
    std::string error;
    SegmentWriter::Options options;
    options.directory = folder_;
    writer_.reset(SegmentWriter::create(options, &error));
    EXPECT_NE(writer_, nullptr) << error;
    g_writer = writer_.get();
  }
  ~SegmentEndTest() override { std::filesystem::remove_all(folder_); }

  template <typename Work>
  void expect_an_end_within(Work work) {
    for (int i = 0; i < 10; ++i) {
      writer_->header().end_mark.store(0);
      ASSERT_EQ(status_of_interrupted(work), 0) << "the process hangs";
      ASSERT_EQ(writer_->header().end_mark.load(), static_cast<std::uint32_t>(EndMark::kExited));
      ASSERT_EQ(writer_->header().exit_status.load(), 6u);
    }
  }

  std::string folder_;
  std::unique_ptr<SegmentWriter> writer_;
};

TEST_F(SegmentEndTest, CanBeWrittenInTheMidstOfADefinition) {
  char text[4000] = "";
  expect_an_end_within([&] { writer_->define(DefinitionKind::kString, 1, text, sizeof text); });
}

TEST_F(SegmentEndTest, CanBeWrittenWhileALaneIsAcquired) {
  expect_an_end_within([&] { writer_->release_lane(writer_->acquire_lane(1)); });
}

TEST_F(SegmentEndTest, CanBeWrittenWhileTheClockIsRead) {
  expect_an_end_within([&] { writer_->update_clock_pair(); });
}

}  // namespace
}  // namespace castscope::lanes
