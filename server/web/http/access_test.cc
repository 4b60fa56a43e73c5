#include "server/web/http/access.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "server/web/http/problem.h"

namespace castscope::web {
namespace {

Response ask(const Handler& handler, const std::string& path, const std::string& host = "127.0.0.1:8000") {
  return handler({.method = "GET", .path = path, .query = "", .host = host});
}

Response ask_with(const Handler& handler, const std::string& path, const std::string& authorization) {
  return handler({.method = "GET", .path = path, .query = "", .host = "localhost", .authorization = authorization});
}

std::string header(const Response& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "";
}

Handler echo(const std::string& token) {
  return guarded([token](const std::string& given) { return given == token; },
                 [](const Request& request) { return Response{.status = 200, .type = "x", .body = request.path}; });
}

class KeptTokenTest : public ::testing::Test {
 protected:
  KeptTokenTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "castscope-token-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    file_ = folder_ / "token";
  }
  ~KeptTokenTest() override { std::filesystem::remove_all(folder_); }
  std::string kept() const { return kept_token(file_.string()).value(); }
  std::filesystem::path folder_, file_;
};

TEST_F(KeptTokenTest, IsTheSameNextTime) {
  const std::string token = kept();
  EXPECT_EQ(token.size(), 22u);
  EXPECT_EQ(kept(), token);
  EXPECT_EQ(std::filesystem::status(file_).permissions(), std::filesystem::perms(0600));
}

TEST_F(KeptTokenTest, IsNewWhereOthersMayKnowIt) {
  const std::string token = kept();
  std::filesystem::permissions(file_, std::filesystem::perms(0640));
  EXPECT_NE(kept(), token);
  EXPECT_EQ(std::filesystem::status(file_).permissions(), std::filesystem::perms(0600));
}

TEST_F(KeptTokenTest, IsNewWhereTheFileIsSomethingElse) {
  for (const char* text : {"", "short", "twenty-two-characters!", "AAAAAAAAAAAAAAAAAAAAAAA"}) {
    std::ofstream(file_) << text;
    std::filesystem::permissions(file_, std::filesystem::perms(0600));
    const std::string token = kept();
    EXPECT_NE(token, text);
    EXPECT_EQ(kept(), token);
  }
  const std::filesystem::path other = folder_ / "other";
  std::ofstream(other) << "of somebody else";
  std::filesystem::remove(file_);
  std::filesystem::create_symlink(other, file_);
  kept();
  EXPECT_FALSE(std::filesystem::is_symlink(file_));
  EXPECT_EQ(std::filesystem::file_size(other), 16u);
}

TEST_F(KeptTokenTest, WhereItCannotBeWrittenThatIsSaid) {
  const auto token = kept_token((folder_ / "missing" / "token").string());
  ASSERT_FALSE(token.ok());
  EXPECT_NE(token.status().message().find("missing/token cannot be written"), std::string::npos);
}

TEST(AccessTest, WithoutTheTokenNothingIsAnswered) {
  const Handler handler = echo("secret");
  for (const char* path : {"/", "/t/", "/t/secre/", "/t/secrets/", "/t/SECRET/", "/secret/", "/t/secre%74/", "/t"}) {
    const Response response = ask(handler, path);
    EXPECT_EQ(response.status, 404) << path;
    EXPECT_EQ(response.type, "text/plain; charset=utf-8") << path << ": a browser can show it";
    EXPECT_EQ(response.body, ask(handler, "/").body) << path << " tells more than others";
  }
  EXPECT_EQ(ask(handler, "/t/secrets/api/v2/runs").type, kProblemType);
  EXPECT_EQ(ask(handler, "/t/secret/api").body, "/api");
  EXPECT_EQ(ask(handler, "/t/secret/").body, "/");
}

TEST(AccessTest, TheTokenMayStandInTheHeader) {
  const Handler handler = echo("secret");
  for (const char* word : {"Bearer secret", "bearer secret", "BEARER  secret"})
    EXPECT_EQ(ask_with(handler, "/api/v2/runs", word).body, "/api/v2/runs") << word;
  EXPECT_EQ(ask_with(handler, "/", "Bearer secret").body, "/");
  for (const char* word : {"", "secret", "Bearer", "Bearer ", "Bearer secre", "Bearer secrets", "Basic secret"}) {
    const Response response = ask_with(handler, "/api/v2/runs", word);
    EXPECT_EQ(response.status, 401) << word;
    EXPECT_EQ(header(response, "WWW-Authenticate"), "Bearer realm=\"castscope\"") << word;
    EXPECT_EQ(response.type, kProblemType) << word;
    EXPECT_EQ(ask_with(handler, "/", word).status, 404) << word;
  }
  EXPECT_EQ(ask_with(handler, "/t/wrong/api/v2/runs", "Bearer secret").status, 404)
      << "a path with a token has its own";
}

TEST(AccessTest, AWrongTokenIsAnsweredSlowlyAndNoOtherOne) {
  const Handler handler = echo("secret");
  EXPECT_TRUE(ask(handler, "/t/wrong/").slowly);
  EXPECT_TRUE(ask_with(handler, "/api/v2/runs", "Bearer wrong").slowly);
  EXPECT_FALSE(ask(handler, "/t/secret/").slowly);
  EXPECT_FALSE(ask(handler, "/").slowly);
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

}  // namespace
}  // namespace castscope::web
