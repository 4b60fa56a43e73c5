#include "server/cli/recording/token_proof.h"

#include <gtest/gtest.h>

namespace castscope::cli {
namespace {

const relay::Destination kHome{.address = "collector.example.org:7390", .tls = true, .root_certificate_file = "ca.pem"};

TEST(TokenProofTest, HoldsForTheTokenAndTheDestinationThatItWasMadeOf) {
  const std::string proof = proof_of("a token", kHome);
  EXPECT_EQ(proof.size(), 64u);
  EXPECT_TRUE(is_proof(proof, "a token", kHome));
  EXPECT_FALSE(is_proof(proof, "another", kHome));
  EXPECT_EQ(proof.find("token"), std::string::npos);
}

TEST(TokenProofTest, HoldsForNoOtherDestination) {
  const std::string proof = proof_of("a token", kHome);
  relay::Destination other = kHome;
  other.address = "collector.example.com:7390";
  EXPECT_FALSE(is_proof(proof, "a token", other));
  other = kHome, other.tls = false;
  EXPECT_FALSE(is_proof(proof, "a token", other));
  other = kHome, other.root_certificate_file = "theirs.pem";
  EXPECT_FALSE(is_proof(proof, "a token", other));
  other = kHome, other.address += " 6 ca.pem", other.root_certificate_file.clear();
  EXPECT_FALSE(is_proof(proof, "a token", other));
}

TEST(TokenProofTest, NothingProvesThatNoTokenWasGiven) {
  EXPECT_EQ(proof_of("", kHome), "");
  EXPECT_FALSE(is_proof("", "", kHome));
  EXPECT_FALSE(is_proof("", "a token", kHome));
}

}  // namespace
}  // namespace castscope::cli
