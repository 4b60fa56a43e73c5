#include "server/web/http/connections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>

namespace castscope::web {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using Entry = Connections::Entry;

class ConnectionsTest : public ::testing::Test {
 protected:
  ~ConnectionsTest() override {
    for (const Pair& pair : pairs_) close(pair.ours), close(pair.theirs);
  }
  // Lets a connection in, and returns its socket.
  int enter(Entry expected = Entry::kServed) {
    Pair& pair = pairs_.emplace_back();
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, &pair.ours), 0);
    EXPECT_EQ(connections_.enter(pair.ours), expected);
    return pair.ours;
  }
  int enter_at_work() {
    const int socket = enter();
    EXPECT_TRUE(connections_.handles(socket));
    return socket;
  }
  // The sockets of those that were told to end since the last call. Their threads say that they are gone.
  std::vector<int> ended() {
    std::vector<int> all;
    char byte = 0;
    for (Pair& pair : pairs_) {
      if (pair.is_over || recv(pair.theirs, &byte, 1, MSG_DONTWAIT) != 0) continue;
      pair.is_over = true;
      all.push_back(pair.ours);
      EXPECT_FALSE(connections_.awaits_request(pair.ours));
      connections_.gone(pair.ours);
    }
    return all;
  }

  struct Pair {
    int ours = -1, theirs = -1;
    bool is_over = false;
  };
  std::deque<Pair> pairs_;
  Connections connections_{{.connections = 3, .patience_when_full = milliseconds(0)}};
};

TEST_F(ConnectionsTest, WhoSendsNoRequestMakesRoomFirstThenWhoTakesNoAnswerThenWhoAsksNothing) {
  const int idle = enter_at_work(), sending = enter_at_work(), unheard = enter();
  EXPECT_TRUE(connections_.sends(idle) && connections_.awaits_request(idle));
  EXPECT_TRUE(connections_.sends(sending));
  enter_at_work();
  EXPECT_THAT(ended(), ElementsAre(unheard));
  enter_at_work();
  EXPECT_THAT(ended(), ElementsAre(sending));
  enter_at_work();
  EXPECT_THAT(ended(), ElementsAre(idle));
  enter(Entry::kRefused);
  EXPECT_THAT(ended(), ElementsAre()) << "all of them are at work";
}

TEST_F(ConnectionsTest, WhoIsAnsweredSlowlyMakesRoomBeforeAllOthers) {
  enter();
  const int slowed = enter_at_work();
  enter();
  EXPECT_TRUE(connections_.slows(slowed));
  enter();
  EXPECT_THAT(ended(), ElementsAre(slowed));
}

TEST_F(ConnectionsTest, OfThoseThatAskNothingTheLongestQuietGoesFirst) {
  const int first = enter_at_work(), second = enter_at_work(), third = enter_at_work();
  for (const int socket : {third, first, second}) EXPECT_TRUE(connections_.awaits_request(socket));
  enter_at_work();
  EXPECT_THAT(ended(), ElementsAre(third));
  EXPECT_TRUE(connections_.handles(first) && connections_.awaits_request(first));  // it has asked again
  enter_at_work();
  EXPECT_THAT(ended(), ElementsAre(second));
}

TEST_F(ConnectionsTest, AfterTheEndNobodyIsLetIn) {
  const int one = enter();
  connections_.stop();
  EXPECT_THAT(ended(), ElementsAre(one));
  enter(Entry::kClosed);
  EXPECT_TRUE(connections_.wait_until_all_gone(milliseconds(0)));
}

}  // namespace
}  // namespace castscope::web
