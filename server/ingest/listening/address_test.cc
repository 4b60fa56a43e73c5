#include "server/ingest/listening/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/admission/digest.h"

namespace castscope::ingest {
namespace {

using testing::HasSubstr;

std::shared_ptr<admission::Door> one_token() {
  admission::Tokens tokens;
  tokens.add({.name = "t", .digest = admission::digest_of("t"), .may = {admission::Role::kSend}});
  return std::make_shared<admission::Door>(tokens, nullptr);
}

std::string refusal(const Options& options) { return std::string(check_listener(options).message()); }

TEST(AddressTest, LoopbackNeedsNothing) { EXPECT_TRUE(check_listener({.address = "127.0.0.1:0"}).ok()); }

TEST(AddressTest, AnyOtherAddressNeedsTlsAndToken) {
  EXPECT_THAT(refusal({.address = "0.0.0.0:7117"}), HasSubstr("without TLS (certificate and key) and a token"));
  EXPECT_THAT(refusal({.address = "0.0.0.0:7117", .door = one_token()}),
              HasSubstr("without TLS (certificate and key);"));
  EXPECT_THAT(refusal({.address = "0.0.0.0:7117", .certificate_file = "c", .key_file = "k"}),
              HasSubstr("without a token, or certificates of clients;"));
  EXPECT_THAT(refusal({.address = "0.0.0.0:7117", .client_authorities_file = "a"}), HasSubstr("only with TLS"));
  EXPECT_TRUE(
      check_listener({.address = "0.0.0.0:7117", .door = one_token(), .certificate_file = "c", .key_file = "k"}).ok());
  EXPECT_TRUE(check_listener(
                  {.address = "0.0.0.0:7117", .certificate_file = "c", .key_file = "k", .client_authorities_file = "a"})
                  .ok());
}

TEST(AddressTest, HalfATlsIsNone) {
  EXPECT_THAT(refusal({.address = "127.0.0.1:0", .certificate_file = "c"}), HasSubstr("the key is missing"));
  EXPECT_THAT(refusal({.address = "127.0.0.1:0", .key_file = "k"}), HasSubstr("the certificate is missing"));
}

TEST(AddressTest, RefusesWhatIsNoAddress) {
  for (const char* address : {"localhost", "localhost:", "localhost:http", "127.0.0.1:70000", "::1:5",
                              "127.0.0.1:7390 ", " 127.0.0.1:7390", "127.0.0.1: 7390"})
    EXPECT_THAT(refusal({.address = address}), HasSubstr("give HOST:PORT")) << address;
}

TEST(AddressTest, ASocketNeedsAPathInAFolderThatIsThere) {
  for (const char* address : {"unix:", "unix:/tmp/", "unix-abstract:"})
    EXPECT_THAT(refusal({.address = address}), HasSubstr("the path of the socket is missing; give it")) << address;
  EXPECT_THAT(refusal({.address = "unix:/tmp/nowhere-at-all/a.sock"}),
              HasSubstr("there is no folder /tmp/nowhere-at-all; make it (`mkdir -p /tmp/nowhere-at-all`)"));
  EXPECT_THAT(refusal({.address = "unix:/tmp/" + std::string(120, 'a')}), HasSubstr("has at most 107 bytes"));
  for (const char* address : {"unix:/tmp/a.sock", "unix:///tmp/a.sock", "unix:a.sock"})
    EXPECT_TRUE(check_listener({.address = address}).ok()) << address;
}

TEST(AddressTest, ASocketWithoutAFileNeedsAToken) {
  EXPECT_THAT(refusal({.address = "unix-abstract:a"}), HasSubstr("every user of this machine can reach"));
  EXPECT_TRUE(check_listener({.address = "unix-abstract:a", .door = one_token()}).ok());
}

}  // namespace
}  // namespace castscope::ingest
