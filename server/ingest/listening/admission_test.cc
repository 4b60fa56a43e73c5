#include "server/ingest/listening/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace castscope::ingest {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class AdmissionTest : public testing::Test {
 protected:
  absl::Status admit(const std::string& authorization, const std::string& peer = "ipv4:10.0.0.1:4711") {
    return admission_.admit(authorization, peer, [] { return true; });  // who has gone is not waited for
  }
  std::vector<std::string> told_;
  Admission admission_{"secret", [this](const std::string& sentence) { told_.push_back(sentence); }};
};

TEST_F(AdmissionTest, LetsInWhoHasTheToken) {
  EXPECT_TRUE(admit("Bearer secret").ok());
  EXPECT_TRUE(Admission("", {}).admit("", "peer", {}).ok());
  for (const char* wrong : {"secret", "Bearer secre", "Bearer ", "bearer secret", "Bearer secret "})
    EXPECT_TRUE(absl::IsUnauthenticated(admit(wrong))) << wrong;
  EXPECT_THAT(std::string(admit("").message()), HasSubstr("was given none: set CASTSCOPE_TOKEN_FILE"));
}

TEST_F(AdmissionTest, TellsOfEachMachineOnceInAWhile) {
  for (int port = 1; port <= 40; ++port) (void)admit("Bearer wrong", "ipv4:10.0.0.1:" + std::to_string(port));
  (void)admit("Bearer wrong", "ipv4:10.0.0.2:1");
  (void)admit("", "ipv4:10.0.0.3:1");
  EXPECT_THAT(told_, ElementsAre("a wrong token came from ipv4:10.0.0.1:1", "a wrong token came from ipv4:10.0.0.2:1"));
}

TEST_F(AdmissionTest, AWrongTokenIsAnsweredSlowly) {
  int looks = 0;
  (void)admission_.admit("Bearer wrong", "peer", [&] { return ++looks == 5; });
  EXPECT_EQ(looks, 5) << "it waits until the caller has gone, or the time is over";
  std::thread waiting([&] { (void)admission_.admit("Bearer wrong", "peer", [] { return false; }); });
  admission_.stop();
  waiting.join();
}

}  // namespace
}  // namespace castscope::ingest
