#include "server/config/amounts.h"

#include <gmock/gmock.h>

namespace castscope::config {
namespace {

TEST(AmountsTest, Shares) {
  EXPECT_EQ(parse_share("5%"), 0.05);
  EXPECT_EQ(parse_share("5 %"), 0.05);
  EXPECT_EQ(parse_share("0.05"), 0.05);
  EXPECT_EQ(parse_share("100%"), 1);
  EXPECT_EQ(parse_share("1%"), 0.01);
  EXPECT_EQ(parse_share("0"), 0);
  for (const char* bad : {"", "%", "1", "1.0", "5", "101%", "-1%", "x", "5%%", "1e2%", "nan", "inf"})
    EXPECT_EQ(parse_share(bad), std::nullopt) << bad;
}

TEST(AmountsTest, Bytes) {
  EXPECT_EQ(parse_bytes("2GiB"), 2ull << 30);
  EXPECT_EQ(parse_bytes("1.5 kB"), 1500u);
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("0"), 0u);
  for (const char* bad : {"", "GiB", "2 Gigs", "-1", "1e30TiB", "9999999999TiB"})
    EXPECT_EQ(parse_bytes(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace castscope::config
