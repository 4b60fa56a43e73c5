#include "server/relay/outside.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace castscope::relay {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class OutsideTest : public testing::Test {
 protected:
  void SetUp() override { outside_ = Outside::listen(run_); }
  // Sends what a process of the job sends, with `told` as the run that it means.
  void send(std::uint32_t kind, const std::string& told, std::uint64_t magic = CASTSCOPE_OUTSIDE_MAGIC) {
    castscope_outside message{.magic = magic, .kind = kind, .run_directory = ""};
    std::snprintf(message.run_directory, sizeof message.run_directory, "%s", told.c_str());
    send_bytes(&message, offsetof(castscope_outside, run_directory) + told.size() + 1);
  }
  void send_bytes(const void* bytes, std::size_t count) {
    sockaddr_un address{};
    const socklen_t length = castscope_outside_address(&address, run_.c_str());
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const auto* to = reinterpret_cast<const sockaddr*>(&address);
    EXPECT_EQ(sendto(fd, bytes, count, 0, to, length), static_cast<ssize_t>(count));
    close(fd);
  }

  const std::string run_ = "/nowhere/run-1-2-" + std::to_string(getpid());
  std::unique_ptr<Outside> outside_;
};

TEST_F(OutsideTest, TheKernelTellsWhoSent) {
  ASSERT_NE(outside_, nullptr);
  send(CASTSCOPE_OUTSIDE_NOT_THERE, run_);
  const std::vector<Outsider> told = outside_->take();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].kind, CASTSCOPE_OUTSIDE_NOT_THERE);
  EXPECT_EQ(told[0].pid, getpid());
  EXPECT_EQ(told[0].uid, getuid());
  EXPECT_THAT(outside_->take(), IsEmpty());
}

TEST_F(OutsideTest, WhatIsNotOfThisRunOrMakesNoSenseIsPassedOver) {
  ASSERT_NE(outside_, nullptr);
  send(CASTSCOPE_OUTSIDE_NOT_THERE, run_ + "0");
  send(CASTSCOPE_OUTSIDE_NOT_THERE, "");
  send(99, run_);
  send(CASTSCOPE_OUTSIDE_NOT_THERE, run_, 1);
  send_bytes("x", 1);
  send_bytes("", 0);
  EXPECT_THAT(outside_->take(), IsEmpty());
  send(CASTSCOPE_OUTSIDE_OWN_RUN, run_);
  EXPECT_THAT(outside_->take(), SizeIs(1));
}

TEST_F(OutsideTest, ARunHasOneListener) {
  EXPECT_EQ(Outside::listen(run_), nullptr);
  outside_.reset();
  EXPECT_NE(Outside::listen(run_), nullptr);
}

}  // namespace
}  // namespace castscope::relay
