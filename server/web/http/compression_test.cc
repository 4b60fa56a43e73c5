#include "server/web/http/compression.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

namespace castscope::web {
namespace {

Response long_text(const std::string& type = "application/json") {
  return {.status = 200, .type = type, .body = std::string(5'000, 'a') + std::string(5'000, 'b')};
}

std::string unpacked(const std::string& packed) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string text(1 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

TEST(CompressionTest, ClientsThatTakeGzip) {
  for (const char* sent : {"gzip", "GZIP", "br, gzip", "br;q=1, gzip;q=0.2", "*", "x-gzip", "identity, *;q=0.1"})
    EXPECT_TRUE(accepts_gzip(sent)) << sent;
  for (const char* sent : {"", "br", "gzip;q=0", "gzip;q=0, *", "identity", "*;q=0", "gzipped", "gzip;q=none"})
    EXPECT_FALSE(accepts_gzip(sent)) << sent;
}

TEST(CompressionTest, TheTextComesBack) {
  Response response = long_text();
  compress_for("gzip", response);
  EXPECT_LT(response.body.size(), 1'000u);
  EXPECT_EQ(unpacked(response.body), long_text().body);
  EXPECT_EQ(response.headers.back(), (std::pair<std::string, std::string>("Content-Encoding", "gzip")));
}

TEST(CompressionTest, WhoDoesNotTakeItGetsTheTextAndACacheIsTold) {
  Response response = long_text();
  compress_for("br", response);
  EXPECT_EQ(response.body, long_text().body);
  ASSERT_EQ(response.headers.size(), 1u);
  EXPECT_EQ(response.headers.front(), (std::pair<std::string, std::string>("Vary", "Accept-Encoding")));
}

TEST(CompressionTest, ShortTextsAndBinaryDataStayAsTheyAre) {
  Response picture = long_text("application/octet-stream"), brief{.status = 200, .type = "text/plain", .body = "brief"};
  compress_for("gzip", picture);
  compress_for("gzip", brief);
  EXPECT_EQ(picture.body, long_text().body);
  EXPECT_EQ(brief.body, "brief");
  EXPECT_TRUE(picture.headers.empty());
  EXPECT_TRUE(brief.headers.empty());
}

}  // namespace
}  // namespace castscope::web
