#include "server/report/account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace castscope::report {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

Json finding(const char* rule, const char* severity, int line) {
  return {{"rule", rule},
          {"severity", severity},
          {"title", "it happens"},
          {"fix", "Mend it."},
          {"location", {{"file", "/job/train.py"}, {"line", line}, {"function", "train"}}}};
}

Json report() {
  const Json nowhere = {{"file", nullptr}, {"line", nullptr}, {"function", nullptr}};
  const Json somewhere = {{"file", "/job/train.py"}, {"line", 8}, {"function", "train"}};
  Json site = {{"location", somewhere}, {"operator", "aten::linear"},
               {"argument", "weight"},  {"phase", "forward"},
               {"cause", "autocast"},   {"from", "float32"},
               {"to", "bfloat16"},      {"casts", 3},
               {"cache_hits", 1},       {"bytes", 100},
               {"cpu_ns", 50}};
  Json placeless = site;
  placeless["location"] = nowhere;
  placeless["operator"] = nullptr;
  return {
      {"format", 1},
      {"run", {{"command", {"python", "train.py"}}, {"cwd", "/job"}, {"complete", true}, {"notices", {"a notice"}}}},
      {"totals", {{"casts", 6}, {"cache_hits", 2}, {"pass_through", 4}, {"bytes", 200}, {"cpu_ns", 100}}},
      {"cache", {{"peak_bytes", 10}, {"peak_entries", 1}}},
      {"processes", Json::array({Json::object()})},
      {"steps", {{"count", 2}, {"runs", {{{"begin_ns", 100}, {"end_ns", 400}}, {{"begin_ns", 0}, {"end_ns", 200}}}}}},
      {"ignored", {{"by_settings", 1}, {"in_code", 2}}},
      {"findings", {finding("cache-grows", "warning", 8), finding("cache-never-cleared", "warning", 9)}},
      {"sites", {site, placeless}},
      {"source",
       {{{"file", "/job/train.py"}, {"state", "kept"}, {"lines", {{{"line", 8}, {"text", "  y =  f(x)"}}}}}}}};
}

Account read(const Json& json, const rules::Settings& settings = {}) {
  const auto account = account_of(json, "run.json", settings);
  EXPECT_TRUE(account.ok()) << account.status().message();
  return account.ok() ? *account : Account();
}

TEST(AccountTest, HasWhatTheReportSays) {
  const Account account = read(report());
  EXPECT_EQ(account.command, "python train.py");
  EXPECT_TRUE(account.complete);
  EXPECT_EQ(account.casts, 6u);
  EXPECT_EQ(account.cache_peak_bytes, 10u);
  EXPECT_EQ(account.steps, 2u);
  EXPECT_EQ(account.steps_ns, 500u);
  ASSERT_EQ(account.sites.size(), 2u);
  EXPECT_EQ(account.sites[0].file, "train.py");
  EXPECT_EQ(account.sites[0].text, "y = f(x)");
  EXPECT_EQ(account.sites[1].text, "");
  EXPECT_EQ(account.findings.size(), 2u);
  EXPECT_EQ(account.fingerprints.size(), 2u);
}

TEST(AccountTest, SettingsSelectSilenceAndGradeWhatAReportHas) {
  rules::Settings settings;
  settings.ignore = {"cache-grows"};
  settings.severity["cache-never-cleared"] = "error";
  const Account account = read(report(), settings);
  ASSERT_EQ(account.findings.size(), 1u);
  EXPECT_EQ(account.findings[0].severity, "error");
  EXPECT_EQ(account.ignored_by_settings, 2u);
  EXPECT_EQ(account.ignored_in_code, 2u);
  settings.select = {"dtype-*"};
  EXPECT_TRUE(read(report(), settings).findings.empty());
}

TEST(AccountTest, ALineWithoutTextIsKnownByItsNumber) {
  Json without = report();
  without.erase("source");
  EXPECT_EQ(read(without).sites[0].text, "line 8");
}

TEST(AccountTest, WhatIsNoReportIsASentence) {
  const auto error = [](const Json& json) { return std::string(account_of(json, "run.json", {}).status().message()); };
  EXPECT_THAT(error(Json::array()), HasSubstr("run.json is no report of castscope"));
  EXPECT_THAT(error({{"version", 1}}), HasSubstr("run.json is no report of castscope"));
  Json newer = report(), part = report();
  newer["format"] = 7;
  EXPECT_THAT(error(newer), HasSubstr("a report of format 7, and this castscope knows format 1"));
  part["totals"].erase("casts");
  EXPECT_THAT(error(part), HasSubstr("run.json is no whole report of castscope"));
  part = report();
  part["sites"][0]["casts"] = "many";
  EXPECT_THAT(error(part), HasSubstr("run.json is no whole report of castscope"));
}

TEST(AccountTest, WhatCannotBeReadIsASentence) {
  const auto error = [](const std::string& file) { return std::string(read_account(file, {}).status().message()); };
  EXPECT_THAT(error("/nowhere/run.json"), HasSubstr("/nowhere/run.json cannot be read: No such file"));
  EXPECT_THAT(error(std::filesystem::temp_directory_path().string()), HasSubstr("is a folder"));
  std::string file = (std::filesystem::temp_directory_path() / "castscope-account-XXXXXX").string();
  ::close(mkstemp(file.data()));
  EXPECT_THAT(error(file), HasSubstr(" is empty"));
  std::ofstream(file) << report().dump().substr(0, 200);
  EXPECT_THAT(error(file), HasSubstr("was cut short"));
  std::ofstream(file) << report();
  EXPECT_TRUE(read_account(file, {}).ok());
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace castscope::report
