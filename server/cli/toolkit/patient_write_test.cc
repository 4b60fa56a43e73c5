#include "server/cli/toolkit/patient_write.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <utility>

namespace castscope::cli {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// Two ends of which nobody reads the first unless a test does.
class Ends {
 public:
  static Ends of_pipe() {
    Ends ends;
    EXPECT_EQ(pipe2(ends.both_.data(), O_CLOEXEC), 0);
    EXPECT_EQ(fcntl(ends.writing(), F_SETPIPE_SZ, 4096), 4096);
    return ends;
  }
  static Ends of_sockets() {
    Ends ends;
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.both_.data()), 0);
    return ends;
  }
  Ends(Ends&& other) noexcept : both_(std::exchange(other.both_, {-1, -1})) {}
  ~Ends() {
    for (const int end : both_)
      if (end >= 0) close(end);
  }
  int reading() const { return both_[0]; }
  int writing() const { return both_[1]; }
  void fill() const {
    const std::string much(1 << 20, 'x');
    EXPECT_FALSE(write_within(writing(), much, milliseconds(0)));
  }
  bool waits_for_its_writers() const { return (fcntl(writing(), F_GETFL) & O_NONBLOCK) == 0; }
  std::string read_so_many(std::size_t bytes) const {
    std::string all;
    std::array<char, 4096> some{};
    while (all.size() < bytes) {
      const ssize_t got = read(reading(), some.data(), std::min(some.size(), bytes - all.size()));
      if (got <= 0) break;
      all.append(some.data(), static_cast<std::size_t>(got));
    }
    return all;
  }

 private:
  Ends() = default;
  std::array<int, 2> both_{-1, -1};
};

TEST(PatientWriteTest, WhatNobodyReadsIsDropped) {
  for (const Ends& ends : {Ends::of_pipe(), Ends::of_sockets()}) {
    ends.fill();
    EXPECT_FALSE(write_within(ends.writing(), "a sentence", milliseconds(1)));
  }
}

TEST(PatientWriteTest, ALongTextArrivesWholeWhereSomebodyReads) {
  const std::string text(300'000, 'y');
  for (const Ends& ends : {Ends::of_pipe(), Ends::of_sockets()}) {
    std::string arrived;
    std::thread reader([&] { arrived = ends.read_so_many(text.size()); });
    EXPECT_TRUE(write_within(ends.writing(), text, hours(1)));
    reader.join();
    EXPECT_EQ(arrived, text);
  }
}

TEST(PatientWriteTest, TheFileStaysAsItWasOpened) {
  for (const Ends& ends : {Ends::of_pipe(), Ends::of_sockets()}) {
    ends.fill();
    EXPECT_TRUE(ends.waits_for_its_writers());
  }
}

TEST(PatientWriteTest, AReaderThatIsGoneIsNotWaitedFor) {
  int both[2];
  ASSERT_EQ(pipe2(both, O_CLOEXEC), 0);
  close(both[0]);
  const auto before = signal(SIGPIPE, SIG_IGN);
  EXPECT_FALSE(write_within(both[1], "a sentence", hours(1)));
  signal(SIGPIPE, before);
  close(both[1]);
}

}  // namespace
}  // namespace castscope::cli
