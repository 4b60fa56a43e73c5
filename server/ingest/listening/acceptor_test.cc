#include "server/ingest/listening/acceptor.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <condition_variable>
#include <cstring>
#include <mutex>

#include "absl/strings/str_cat.h"

namespace castscope::ingest {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

ListeningSockets listen_at(const std::string& address) {
  auto sockets = ListeningSockets::open(address);
  EXPECT_TRUE(sockets.ok()) << sockets.status();
  return *std::move(sockets);
}

std::string why_not(const std::string& address) {
  return std::string(ListeningSockets::open(address).status().message());
}

int connect_to(const std::string& path) {
  sockaddr_un where{.sun_family = AF_UNIX, .sun_path = {}};
  std::strcpy(where.sun_path, path.c_str());
  const int one = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(connect(one, reinterpret_cast<const sockaddr*>(&where), sizeof where), 0) << std::strerror(errno);
  return one;
}

class AcceptorTest : public testing::Test {
 protected:
  AcceptorTest() {
    std::string pattern = testing::TempDir() + "/socket-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~AcceptorTest() override {
    unlink(path().c_str());
    rmdir(folder_.c_str());
  }
  std::string path() const { return folder_ + "/s"; }
  std::string address() const { return "unix:" + path(); }
  void take(int connection) {
    const std::lock_guard lock(mutex_);
    taken_.push_back(connection);
    changed_.notify_all();
  }
  // Waits until so many were taken.
  std::vector<int> taken(std::size_t many) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return taken_.size() >= many; });
    return taken_;
  }

  std::string folder_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> taken_;
};

TEST_F(AcceptorTest, NoMoreConnectionsAreOpenThanMayBe) {
  const Acceptor acceptor(listen_at(address()), std::make_shared<Places>(2),
                          [this](int, int connection) { take(connection); });
  const int clients[] = {connect_to(path()), connect_to(path()), connect_to(path())};
  const std::vector<int> first = taken(2);
  EXPECT_EQ(write(clients[2], "x", 1), 1) << "it waits";
  EXPECT_THAT(taken(2), SizeIs(2));
  close(first[0]);
  EXPECT_THAT(taken(3), SizeIs(3));
  for (const int one : clients) close(one);
  close(first[1]);
  close(taken(3)[2]);
}

TEST_F(AcceptorTest, NobodyElseMayConnect) {
  const ListeningSockets sockets = listen_at(address());
  struct stat info {};
  ASSERT_EQ(stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(AcceptorTest, TheFileOfADeadCollectorIsReplacedAndThatOfALivingOneIsNot) {
  {
    const ListeningSockets living = listen_at(address());
    EXPECT_THAT(why_not(address()), HasSubstr("it is in use"));
  }
  EXPECT_NE(access(path().c_str(), F_OK), 0) << "it is gone with its collector";
  sockaddr_un where{.sun_family = AF_UNIX, .sun_path = {}};
  std::strcpy(where.sun_path, path().c_str());
  const int dead = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(dead, reinterpret_cast<const sockaddr*>(&where), sizeof where), 0);
  close(dead);
  EXPECT_EQ(access(path().c_str(), F_OK), 0);
  EXPECT_THAT(listen_at(address()).sockets(), SizeIs(1));
  ::close(creat(path().c_str(), 0600));
  EXPECT_THAT(why_not(address()), HasSubstr("is an ordinary file, and no socket")) << "somebody's file stays";
}

TEST_F(AcceptorTest, APortIsChosenAndNotShared) {
  const ListeningSockets first = listen_at("127.0.0.1:0");
  EXPECT_THAT(first.address(), testing::MatchesRegex("127\\.0\\.0\\.1:[1-9][0-9]*"));
  EXPECT_EQ(why_not(first.address()), absl::StrCat("cannot listen on ", first.address(), ": it is in use"));
  EXPECT_THAT(why_not("192.0.2.1:7390"), HasSubstr("not an address of this machine"));
  EXPECT_THAT(why_not("no.such.host.invalid:7390"), HasSubstr("cannot listen on no.such.host.invalid:7390: "));
}

}  // namespace
}  // namespace castscope::ingest
