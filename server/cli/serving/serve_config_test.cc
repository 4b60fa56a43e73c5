#include "server/cli/serving/serve_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace castscope::cli {
namespace {

using testing::HasSubstr;

std::string complaint(const std::string& text) {
  return std::string(parse_serve_config(text, "/etc/serve.json").status().message());
}

TEST(ServeConfigTest, AnEmptyOneIsAsWithoutOne) {
  const auto config = parse_serve_config("{}", "serve.json");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->listen, "127.0.0.1:7390");
  EXPECT_EQ(config->folder, ".");
  EXPECT_EQ(config->fsync, "commit");
  EXPECT_EQ(config->retention.days, 0u);
}

TEST(ServeConfigTest, HasEverythingThatTheCommandLineHas) {
  const auto config = parse_serve_config(R"({
    // comments are allowed
    "listen": "0.0.0.0:7390", "folder": "runs", "web": "127.0.0.1:7391", "metrics": "127.0.0.1:7392",
    "tls": {"certificate": "tls/cert.pem", "key": "/run/key.pem", "client_authorities": "ca.pem"},
    "tokens": "tokens.json", "keep": "all", "fsync": "checkpoint", "log_format": "json",
    "retention": {"days": 90, "bytes": "500 GB"},
    "quotas": {"events_per_second": 100000, "bytes_per_run": "2 GB", "open_runs": 50}
  })",
                                         "/etc/castscope/serve.json");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->listen, "0.0.0.0:7390");
  EXPECT_EQ(config->folder, "/etc/castscope/runs") << "a relative path counts from the file's folder";
  EXPECT_EQ(config->certificate, "/etc/castscope/tls/cert.pem");
  EXPECT_EQ(config->key, "/run/key.pem");
  EXPECT_EQ(config->client_authorities, "/etc/castscope/ca.pem");
  EXPECT_EQ(config->tokens, "/etc/castscope/tokens.json");
  EXPECT_EQ(config->metrics, "127.0.0.1:7392");
  EXPECT_EQ(config->log_format, "json");
  EXPECT_EQ(config->retention.days, 90u);
  EXPECT_EQ(config->retention.bytes, 500'000'000'000u);
  const admission::Quotas quotas{.events_per_second = 100'000, .bytes_per_run = 2'000'000'000, .open_runs = 50};
  EXPECT_EQ(config->quotas, quotas);
}

TEST(ServeConfigTest, WhatIsWrongIsToldWithItsPlace) {
  EXPECT_THAT(complaint("{\"folders\": \"runs\"}"),
              HasSubstr("/etc/serve.json:1:2: there is no setting \"folders\" here; did you mean \"folder\"?"));
  EXPECT_THAT(complaint("{\n  \"listen\": 7390}"), HasSubstr("/etc/serve.json:2:"));
  EXPECT_THAT(complaint("{\"fsync\": \"comit\"}"), HasSubstr("did you mean \"commit\"?"));
  EXPECT_THAT(complaint("{\"retention\": {\"days\": 0.5}}"), HasSubstr("a whole number, 1 or more"));
  EXPECT_THAT(complaint("{\"retention\": {\"bytes\": \"many\"}}"), HasSubstr("\"500 GB\""));
  EXPECT_THAT(complaint("{\"tls\": true}"), HasSubstr("this must be an object"));
  EXPECT_THAT(complaint("{\"quotas\": {\"open_run\": 3}}"), HasSubstr("did you mean \"open_runs\"?"));
  EXPECT_THAT(complaint("[]"), HasSubstr("this must be an object"));
  EXPECT_THAT(complaint("{\"listen\": \"a\", \"listen\": \"b\"}"), HasSubstr("for the second time"));
}

}  // namespace
}  // namespace castscope::cli
