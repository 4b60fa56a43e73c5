#include "server/relay/outside.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace castscope::relay {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class OutsideTest : public testing::Test {
 protected:
  void SetUp() override { outside_ = Outside::listen(run_, kSecret); }
  // Sends what a process of the job sends, with `told` as the run that it means.
  void send(std::uint32_t kind, const std::string& told, std::uint64_t magic = CASTSCOPE_OUTSIDE_MAGIC,
            const std::string& secret = "") {
    castscope_outside message{.magic = magic, .kind = kind, .secret = "", .run_directory = ""};
    std::snprintf(message.secret, sizeof message.secret, "%s", secret.c_str());
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

  // Another user sends it, with this secret.
  void send_as_another(const std::string& secret) {
    const pid_t child = fork();
    if (child == 0) {
      if (setuid(65534) != 0) _exit(1);
      send(CASTSCOPE_OUTSIDE_NOT_PERMITTED, run_, CASTSCOPE_OUTSIDE_MAGIC, secret);
      _exit(HasFailure() ? 1 : 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }

  static constexpr char kSecret[] = "0123456789abcdef0123456789abcdef";
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

TEST_F(OutsideTest, AnotherUserIsBelievedWhoKnowsTheJobsSecret) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  ASSERT_NE(outside_, nullptr);
  for (const char* wrong : {"", "0123456789abcdef0123456789abcdeF", "0123"}) {
    send_as_another(wrong);
    EXPECT_THAT(outside_->take(), IsEmpty()) << wrong;
  }
  send_as_another(kSecret);
  const std::vector<Outsider> told = outside_->take();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].uid, 65534u);
}

TEST_F(OutsideTest, ARunWithoutASecretBelievesNoOtherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  outside_.reset();
  outside_ = Outside::listen(run_, "");
  ASSERT_NE(outside_, nullptr);
  send_as_another("");
  send_as_another(kSecret);
  EXPECT_THAT(outside_->take(), IsEmpty());
}

TEST_F(OutsideTest, ARunHasOneListener) {
  EXPECT_EQ(Outside::listen(run_, ""), nullptr);
  outside_.reset();
  EXPECT_NE(Outside::listen(run_, ""), nullptr);
}

}  // namespace
}  // namespace castscope::relay
