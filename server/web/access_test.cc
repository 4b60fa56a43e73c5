#include "server/web/access.h"

#include <gtest/gtest.h>

#include <set>

namespace castscope::web {
namespace {

Response ask(const Handler& handler, const std::string& path, const std::string& host = "127.0.0.1:8000") {
  return handler({.method = "GET", .path = path, .query = "", .host = host});
}

std::string header(const Response& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "";
}

Handler echo(const std::string& token) {
  return guarded(token,
                 [](const Request& request) { return Response{.status = 200, .type = "x", .body = request.path}; });
}

TEST(AccessTest, TokensAreLongAndNeverTheSame) {
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) tokens.insert(new_token().value());
  EXPECT_EQ(tokens.size(), 100u);
  for (const std::string& token : tokens) {
    EXPECT_EQ(token.size(), 22u);  // 128 bits, 6 a character
    EXPECT_EQ(token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
              std::string::npos);
  }
}

TEST(AccessTest, WithoutTheTokenNothingIsAnswered) {
  const Handler handler = echo("secret");
  for (const char* path : {"/", "/t/", "/t/secre/", "/t/secrets/", "/t/SECRET/", "/secret/", "/t/secre%74/", "/t"}) {
    const Response response = ask(handler, path);
    EXPECT_EQ(response.status, 404) << path;
    EXPECT_EQ(response.body, "") << path;
  }
  EXPECT_EQ(ask(handler, "/t/secret/api").body, "/api");
  EXPECT_EQ(ask(handler, "/t/secret/").body, "/");
}

TEST(AccessTest, ThePageIsSentToWhereItsLinksWork) {
  const Response response = ask(echo("secret"), "/t/secret");
  EXPECT_EQ(response.status, 308);
  EXPECT_EQ(header(response, "Location"), "/t/secret/");
}

TEST(AccessTest, OnlyNamesOfThisMachineAreAnswered) {
  const Handler handler = echo("secret");
  for (const char* host : {"127.0.0.1:8000", "127.0.0.1", "localhost:9", "LocalHost:8000", "[::1]:8000", "[::1]"})
    EXPECT_EQ(ask(handler, "/t/secret/", host).status, 200) << host;
  for (const char* host : {"", "example.com:8000", "localhost.example.com", "127.0.0.1.example.com:8000", "[::2]:8000",
                           "[::1", "10.0.0.1:8000"})
    EXPECT_EQ(ask(handler, "/t/secret/", host).status, 421) << host;
}

TEST(AccessTest, EveryAnswerKeepsToItself) {
  const Handler handler = echo("secret");
  for (const char* path : {"/t/secret/", "/", "/t/secret"}) {
    const Response response = ask(handler, path);
    EXPECT_EQ(header(response, "Content-Security-Policy").find("default-src 'none'; script-src 'self'"), 0u) << path;
    EXPECT_EQ(header(response, "Referrer-Policy"), "no-referrer") << path;
    EXPECT_EQ(header(response, "X-Content-Type-Options"), "nosniff") << path;
    EXPECT_EQ(header(response, "Cache-Control"), "no-store") << path;
    EXPECT_EQ(header(response, "Set-Cookie"), "") << path;
  }
}

}  // namespace
}  // namespace castscope::web
