#include "server/cli/recording/collector_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "server/cli/recording/socket_place.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class SocketPlaceTest : public ::testing::Test {
 protected:
  SocketPlaceTest() {
    std::string name = (fs::temp_directory_path() / "castscope-place-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~SocketPlaceTest() override { fs::remove_all(folder_); }
  std::string folder(const std::string& name, mode_t mode) {
    fs::create_directories(folder_ / name);
    chmod((folder_ / name).c_str(), mode);
    return folder_ / name;
  }
  static std::string refusal(const std::string& path) { return std::string(check_place_of_socket(path).message()); }
  fs::path folder_;
};

TEST_F(SocketPlaceTest, AFolderOfItsOwnIsGood) {
  EXPECT_EQ(refusal(folder("run", 0755) + "/collector.sock"), "");
  EXPECT_EQ(refusal((folder_ / "later" / "collector.sock").string()), "");
}

TEST_F(SocketPlaceTest, InAFolderOfAllAnybodyCanListen) {
  EXPECT_THAT(refusal(folder("shared", 0777) + "/c.sock"),
              HasSubstr("others may make " + folder_.string() + "/shared/c.sock"));
  EXPECT_THAT(refusal(folder("sticky", 01777) + "/c.sock"), HasSubstr("others may make"));
  EXPECT_THAT(refusal(folder("sticky", 01777) + "/later/c.sock"), HasSubstr("sticky/later."));
}

TEST_F(SocketPlaceTest, AFolderInAStickyOneIsGoodIfItIsOurs) {
  (void)folder("sticky", 01777);
  const std::string inner = folder("sticky/ours", 0700);
  EXPECT_EQ(refusal(inner + "/c.sock"), "");
  if (geteuid() != 0) GTEST_SKIP() << "only root can give it to somebody else";
  ASSERT_EQ(chown(inner.c_str(), 65534, 65534), 0);
  EXPECT_THAT(refusal(inner + "/c.sock"), HasSubstr("sticky/ours."));
}

TEST_F(SocketPlaceTest, ALinkLeadsNobodyElsewhere) {
  (void)folder("shared", 0777);
  fs::create_symlink(folder("shared/inner", 0700), folder_ / "link");
  EXPECT_THAT(refusal((folder_ / "link" / "c.sock").string()),
              HasSubstr("others may make " + folder_.string() + "/shared/inner."));
}

TEST(CollectorAccessTest, NoTokenIsSentToAPlaceOfAll) {
  CollectorAddress collector{.address = "unix:/tmp/c.sock", .token = "secret", .tls = {}};
  EXPECT_EQ(complete(collector).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(collector.token + collector.token_file, "");
  collector = {.address = "unix:/proc/c.sock", .token = "secret", .tls = {}};
  EXPECT_TRUE(complete(collector).ok());
  collector = {.address = "unix:/tmp/c.sock", .token = "", .tls = {}};
  EXPECT_TRUE(complete(collector).ok());
}

// The relay of a bare job goes on without the token.
TEST(CollectorAccessTest, TlsIsOnForOtherMachinesWhateverElseIsWrong) {
  CollectorAddress collector{.address = "elsewhere:7390", .token = "", .token_file = "/nowhere/token", .tls = {}};
  EXPECT_FALSE(complete(collector).ok());
  EXPECT_TRUE(collector.tls.use);
}

TEST(CompleteTest, WhatIsSentFromAnotherFolderGoesToTheSameCollector) {
  CollectorAddress collector{.address = "unix:s", .tls = {.root_certificate_file = "ca.pem"}};
  ASSERT_TRUE(complete(collector).ok());
  EXPECT_EQ(collector.address, "unix:" + (fs::current_path() / "s").string());
  EXPECT_EQ(collector.tls.root_certificate_file, (fs::current_path() / "ca.pem").string());
  CollectorAddress long_name{.address = "unix:" + std::string(100, 's')};
  ASSERT_TRUE(complete(long_name).ok());
  EXPECT_EQ(long_name.address, "unix:" + std::string(100, 's')) << "it would be too long for a socket";
  CollectorAddress other{.address = "127.0.0.1:7390"};
  ASSERT_TRUE(complete(other).ok());
  EXPECT_EQ(other.address, "127.0.0.1:7390");
}

}  // namespace
}  // namespace castscope::cli
