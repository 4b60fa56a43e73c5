#include "server/admission/door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "server/admission/digest.h"

namespace castscope::admission {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tokens known() {
  Tokens tokens;
  tokens.add({.name = "training", .digest = digest_of("secret"), .may = {Role::kSend}});
  tokens.add({.name = "boards", .digest = digest_of("look"), .may = {Role::kSee}});
  tokens.add({.name = "last year", .digest = digest_of("old"), .may = {Role::kSend}, .until = 86'400});
  return tokens;
}

class DoorTest : public testing::Test {
 protected:
  absl::StatusOr<Guest> admit(const std::string& authorization, const std::string& peer = "ipv4:10.0.0.1:4711") {
    return door_.admit(authorization, Role::kSend, peer, [] { return true; });  // who has gone is not waited for
  }
  std::vector<std::string> told_;
  Door door_{known(), [this](const std::string& sentence) { told_.push_back(sentence); }};
};

TEST_F(DoorTest, LetsInWhoHasATokenForThat) {
  EXPECT_EQ(admit("Bearer secret")->name, "training");
  EXPECT_EQ(Door({}, {}).admit("", Role::kSee, "peer", {})->name, "") << "where there are no tokens, none is asked for";
  for (const char* wrong : {"secret", "Bearer secre", "Bearer ", "bearer secret", "Bearer secret "})
    EXPECT_TRUE(absl::IsUnauthenticated(admit(wrong).status())) << wrong;
  EXPECT_THAT(std::string(admit("").status().message()), HasSubstr("was given none: set CASTSCOPE_TOKEN_FILE"));
  const absl::Status other = admit("Bearer look").status();
  EXPECT_TRUE(absl::IsPermissionDenied(other));
  EXPECT_THAT(std::string(other.message()), HasSubstr("this token (boards) may not send"));
  EXPECT_TRUE(door_.admit("Bearer look", Role::kSee, "peer", {}).ok());
}

TEST_F(DoorTest, ATokenWhoseTimeIsOverIsNotTaken) {
  const absl::Status over = admit("Bearer old").status();
  EXPECT_TRUE(absl::IsUnauthenticated(over));
  EXPECT_THAT(std::string(over.message()), HasSubstr("the time of this token (last year) is over"));
  EXPECT_THAT(told_, ElementsAre("a token of last year whose time is over came from ipv4:10.0.0.1:4711"));
}

TEST_F(DoorTest, ATokenThatIsTakenOutIsNotTakenAnyMore) {
  const Guest guest = *admit("Bearer secret");
  EXPECT_TRUE(door_.still_admits(guest, Role::kSend));
  Tokens others;
  others.add({.name = "training", .digest = digest_of("new secret"), .may = {Role::kSend}});
  door_.change(others);
  EXPECT_FALSE(door_.still_admits(guest, Role::kSend));
  EXPECT_FALSE(admit("Bearer secret").ok());
  EXPECT_TRUE(door_.still_admits(*admit("Bearer new secret"), Role::kSend));
}

TEST_F(DoorTest, TellsOfEachMachineOnceInAWhile) {
  for (int port = 1; port <= 40; ++port) (void)admit("Bearer wrong", "ipv4:10.0.0.1:" + std::to_string(port));
  (void)admit("Bearer wrong", "ipv4:10.0.0.2:1");
  (void)admit("", "ipv4:10.0.0.3:1");
  EXPECT_THAT(told_, ElementsAre("a wrong token came from ipv4:10.0.0.1:1", "a wrong token came from ipv4:10.0.0.2:1",
                                 "no token came from ipv4:10.0.0.3:1"));
}

TEST_F(DoorTest, AWrongTokenIsAnsweredSlowly) {
  int looks = 0;
  (void)door_.admit("Bearer wrong", Role::kSend, "peer", [&] { return ++looks == 5; });
  EXPECT_EQ(looks, 5) << "it waits until the caller has gone, or the time is over";
  std::thread waiting([&] { (void)door_.admit("Bearer wrong", Role::kSend, "peer", [] { return false; }); });
  door_.stop();
  waiting.join();
}

// Who replaces a token tells the collector and uses it at once: the collector may not have read it yet.
TEST_F(DoorTest, ATokenThatBecomesRightMeanwhileIsLetIn) {
  Tokens next = known();
  next.add({.name = "next", .digest = digest_of("newer"), .may = {Role::kSend}});
  int looks = 0;
  std::thread changing;
  const absl::StatusOr<Guest> guest = door_.admit("Bearer newer", Role::kSend, "peer", [&] {
    if (++looks == 1) changing = std::thread([&] { door_.change(next); });  // as soon as it waits
    return false;
  });
  changing.join();
  ASSERT_TRUE(guest.ok()) << guest.status();
  EXPECT_EQ(guest->name, "next");
}

}  // namespace
}  // namespace castscope::admission
