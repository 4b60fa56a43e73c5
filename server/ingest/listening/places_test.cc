#include "server/ingest/listening/places.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <unistd.h>

#include <deque>

#include "absl/strings/str_cat.h"

namespace castscope::ingest {
namespace {

using Answer = Places::Answer;

// "" = over a Unix socket.
Origin from(const std::string& address, int port) {
  sockaddr_storage where{};
  where.ss_family = AF_UNIX;
  if (address.empty()) return origin_of(where);
  auto& four = reinterpret_cast<sockaddr_in&>(where);
  auto& six = reinterpret_cast<sockaddr_in6&>(where);
  if (inet_pton(AF_INET, address.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(static_cast<std::uint16_t>(port));
  } else {
    EXPECT_EQ(inet_pton(AF_INET6, address.c_str(), &six.sin6_addr), 1) << address;
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(static_cast<std::uint16_t>(port));
  }
  return origin_of(where);
}

// Sixteen places, so two strangers of one machine are its part of them.
class PlacesTest : public testing::Test {
 protected:
  ~PlacesTest() override {
    for (const Pair& pair : pairs_) close(pair.ours), close(pair.theirs);
  }
  struct Pair {
    int ours = -1, theirs = -1;
  };
  // Somebody connects; his number is where he stands among those that did.
  Answer comes(const std::string& address) {
    Pair& pair = pairs_.emplace_back();
    if (over_tcp_)
      connect(pair);
    else
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, &pair.ours), 0);
    origin_ = from(address, static_cast<int>(pairs_.size()));
    return asks_again();
  }
  static void connect(Pair& pair) {
    sockaddr_in where{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    socklen_t size = sizeof where;
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&where), size), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    EXPECT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&where), &size), 0);
    pair.theirs = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(pair.theirs, reinterpret_cast<sockaddr*>(&where), size), 0);
    pair.ours = accept(listener, nullptr, nullptr);
    close(listener);
  }
  Answer asks_again() { return places_.enter(pairs_.back().ours, origin_, now_); }
  void come(int many, const std::string& address) {
    for (int i = 0; i < many; ++i) ASSERT_EQ(comes(address), Answer::kIn);
  }
  // Which the collector reads.
  void sends(int number, std::size_t bytes) {
    const Pair& pair = pairs_[number - 1];
    std::string some(bytes, 'x'), read(1 << 16, ' ');
    for (std::size_t sent = 0; sent < bytes;) {
      const ssize_t more = send(pair.theirs, some.data() + sent, bytes - sent, MSG_DONTWAIT);
      if (more > 0) sent += static_cast<std::size_t>(more);
      while (recv(pair.ours, read.data(), read.size(), MSG_DONTWAIT) > 0) {
      }
    }
  }
  void introduces_itself(const std::string& address, int number) {
    EXPECT_TRUE(places_.introduced(absl::StrCat("ipv4:", address, ":", number)));
  }
  // Who was told to end since the last call, 0 = nobody. gRPC closes his connection.
  int who_went() {
    char byte = 0;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      if (pairs_[i].theirs < 0 || recv(pairs_[i].theirs, &byte, 1, MSG_DONTWAIT) != 0) continue;
      goes(static_cast<int>(i) + 1);
      return static_cast<int>(i) + 1;
    }
    return 0;
  }
  void goes(int number) {
    Pair& pair = pairs_[number - 1];
    close(std::exchange(pair.ours, -1));
    close(std::exchange(pair.theirs, -1));
  }

  std::deque<Pair> pairs_;
  Origin origin_;
  Places::Clock::time_point now_ = Places::Clock::now();
  bool over_tcp_ = false;
  Places places_{16};
};

// Nine machines and more, none of which has too many: who means to speak has spoken by then.
TEST_F(PlacesTest, WhoHasSaidNothingForASecondMakesRoom) {
  over_tcp_ = true;
  for (int machine = 1; machine <= 16; ++machine) come(1, absl::StrCat("192.0.2.", machine));
  sends(1, 1);
  sends(3, 1);
  now_ += std::chrono::milliseconds(999);
  EXPECT_EQ(comes("192.0.3.1"), Answer::kWaits);
  EXPECT_EQ(who_went(), 0) << "his first byte may be on its way";
  now_ += std::chrono::milliseconds(1);
  EXPECT_EQ(asks_again(), Answer::kWaits);
  EXPECT_EQ(who_went(), 2) << "the oldest of which nothing has come";
  EXPECT_EQ(asks_again(), Answer::kIn);
}

// The handshake of somebody far away may take its time, and so may that of a job on this machine.
TEST_F(PlacesTest, WhoHasSpokenHasTenSecondsForTheRest) {
  over_tcp_ = true;
  come(16, "127.0.0.1");
  for (int number = 1; number <= 16; ++number) sends(number, 1);
  now_ += Places::kPatience - std::chrono::milliseconds(1);
  EXPECT_EQ(comes("127.0.0.1"), Answer::kWaits);
  EXPECT_EQ(who_went(), 0);
  now_ += std::chrono::milliseconds(1);
  EXPECT_EQ(asks_again(), Answer::kWaits);
  EXPECT_EQ(who_went(), 1);
}

TEST_F(PlacesTest, TheMachineWithTheMostStrangersMakesRoomForAnotherOne) {
  come(6, "192.0.2.1");
  come(10, "192.0.2.2");
  introduces_itself("192.0.2.2", 7);
  EXPECT_EQ(comes("192.0.2.3"), Answer::kWaits);
  EXPECT_EQ(asks_again(), Answer::kWaits) << "nobody else is told to end meanwhile";
  EXPECT_EQ(who_went(), 8) << "the oldest that has not introduced itself";
  EXPECT_EQ(who_went(), 0);
  EXPECT_EQ(asks_again(), Answer::kIn);
}

TEST_F(PlacesTest, AMachineWithItsPartOfStrangersKeepsOutItselfAlone) {
  come(14, "192.0.2.1");
  come(1, "192.0.2.2");
  come(1, "192.0.2.3");
  EXPECT_EQ(comes("192.0.2.1"), Answer::kTurnedAway);
  EXPECT_EQ(who_went(), 0);
  EXPECT_EQ(comes("192.0.2.2"), Answer::kWaits);
  EXPECT_EQ(who_went(), 1);
  EXPECT_EQ(asks_again(), Answer::kIn);
  EXPECT_EQ(comes("192.0.2.2"), Answer::kTurnedAway) << "it has two strangers now";
  introduces_itself("192.0.2.2", 15);
  EXPECT_EQ(comes("192.0.2.2"), Answer::kWaits) << "it has one";
}

TEST_F(PlacesTest, NobodyIsTurnedAwayWhileThereIsAPlace) {
  come(16, "192.0.2.1");
  goes(3);
  EXPECT_EQ(comes("192.0.2.1"), Answer::kIn);
}

TEST_F(PlacesTest, WhoHasIntroducedItselfNeverGivesWay) {
  for (int number = 1; number <= 16; ++number) {
    come(1, "192.0.2.1");
    introduces_itself("192.0.2.1", number);
  }
  now_ += 10 * Places::kPatience;
  EXPECT_EQ(comes("192.0.2.2"), Answer::kWaits);
  EXPECT_EQ(comes("192.0.2.1"), Answer::kWaits);
  EXPECT_EQ(who_went(), 0);
}

// Whoever has a token has many machines, or this one.
TEST_F(PlacesTest, ASenderGetsThreeQuartersOfThePlacesForGoodAndLeavesTheOthers) {
  const auto introduced = [this](int number, const char* sender) {
    return places_.introduced(absl::StrCat("ipv4:127.0.0.1:", number), sender);
  };
  come(15, "127.0.0.1");
  for (int number = 1; number <= 12; ++number) EXPECT_TRUE(introduced(number, "one"));
  EXPECT_FALSE(introduced(13, "one"));
  EXPECT_TRUE(introduced(12, "one")) << "another stream of a connection that has its place";
  EXPECT_TRUE(introduced(14, "other"));
  goes(3);
  EXPECT_TRUE(introduced(13, "one"));
  EXPECT_FALSE(introduced(15, "one"));
  come(2, "127.0.0.1");
  now_ += Places::kPatience;
  EXPECT_EQ(comes("127.0.0.1"), Answer::kWaits);
  EXPECT_EQ(who_went(), 15) << "it is a stranger's still";
}

TEST_F(PlacesTest, WithoutTokensTheOneSenderHasAllPlaces) {
  come(16, "127.0.0.1");
  for (int number = 1; number <= 16; ++number) introduces_itself("127.0.0.1", number);
}

TEST_F(PlacesTest, FromThisMachineAsManyMayComeAsThereArePlacesAndHaveTheirTime) {
  come(15, "127.0.0.1");
  come(1, "::1");
  EXPECT_EQ(comes("127.0.0.1"), Answer::kWaits);
  EXPECT_EQ(comes("192.0.2.1"), Answer::kWaits);
  EXPECT_EQ(who_went(), 0);
  introduces_itself("127.0.0.1", 1);
  now_ += Places::kPatience;
  EXPECT_EQ(comes("127.0.0.2"), Answer::kWaits);
  EXPECT_EQ(who_went(), 2);
  EXPECT_EQ(asks_again(), Answer::kIn);
}

TEST_F(PlacesTest, AStrangerThatSendsMoreThanAHelloIsEndedAndItsMachineIsBarredForAWhile) {
  EXPECT_FALSE(places_.look_at_strangers(now_));
  over_tcp_ = true;
  come(2, "192.0.2.1");
  come(1, "192.0.2.2");
  introduces_itself("192.0.2.1", 2);
  for (const int number : {1, 2, 3}) sends(number, Places::kMostOfStranger);
  EXPECT_TRUE(places_.look_at_strangers(now_));
  EXPECT_EQ(who_went(), 0);
  for (const int number : {1, 2}) sends(number, 1000);
  EXPECT_TRUE(places_.look_at_strangers(now_));
  EXPECT_EQ(who_went(), 1) << "and not who has introduced itself";
  EXPECT_EQ(comes("192.0.2.1"), Answer::kTurnedAway);
  EXPECT_EQ(comes("192.0.2.3"), Answer::kIn);
  now_ += std::chrono::seconds(6);
  EXPECT_EQ(comes("192.0.2.1"), Answer::kIn);
}

TEST_F(PlacesTest, OverAUnixSocketNobodyGivesWay) {
  come(16, "");
  now_ += 10 * Places::kPatience;
  EXPECT_EQ(comes(""), Answer::kWaits);
  EXPECT_EQ(who_went(), 0);
  goes(1);
  EXPECT_EQ(asks_again(), Answer::kIn);
}

TEST_F(PlacesTest, ManyMachinesThatComeAtOnceAreNotTakenForOne) {
  for (int i = 1; i <= 16; ++i) come(1, absl::StrCat("192.0.2.", i));
  EXPECT_EQ(comes("192.0.2.17"), Answer::kWaits);
  EXPECT_EQ(who_went(), 0);
}

TEST_F(PlacesTest, ANetworkOfIPv6IsOneMachine) {
  come(8, "2001:db8::1");
  come(8, "2001:db8::2");
  EXPECT_EQ(comes("2001:db8::3"), Answer::kTurnedAway);
  EXPECT_EQ(comes("2001:db8:0:1::1"), Answer::kWaits);
  EXPECT_EQ(who_went(), 1);
}

TEST_F(PlacesTest, PeersAreKnownAsGrpcNamesThem) {
  come(16, "fe80::1");
  EXPECT_TRUE(places_.introduced("ipv6:%5Bfe80::1%25eth0%5D:1"));
  EXPECT_TRUE(places_.introduced("ipv6:[fe80::1]:2"));
  EXPECT_EQ(comes("192.0.2.1"), Answer::kWaits);
  EXPECT_EQ(who_went(), 3);
}

}  // namespace
}  // namespace castscope::ingest
