#include "server/report/compare/account_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <tuple>

#include "server/judging/judged_run.h"
#include "server/report/findings/fingerprint.h"
#include "server/report/forms/json.h"
#include "server/report/model/model.h"
#include "server/store/testing/test_run.h"
#include "server/store/write/run_store.h"

namespace castscope::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
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

TEST(AccountTest, ARunOfWhichSomethingIsMissingIsNotComplete) {
  Json json = report();
  json["run"]["missing"] = {{{"incomplete_reason", "events_missing"}, {"process", nullptr}, {"sentence", "it is"}}};
  EXPECT_FALSE(read(json).complete);
}

TEST(AccountTest, WhatIsMissingIsSaidAlsoForReasonsOfANewerCastscope) {
  Json json = report();
  json["run"]["missing"] = {
      {{"incomplete_reason", "run_not_ended"}, {"process", nullptr}, {"sentence", "it goes on"}},
      {{"incomplete_reason", "moon_was_full"}, {"process", nullptr}, {"sentence", "the moon was full"}},
      {{"incomplete_reason", "events_missing"}, {"process", nullptr}, {"sentence", "a notice"}}};
  EXPECT_THAT(read(json).notices, ElementsAre("a notice", "the moon was full"));
}

TEST(AccountTest, AReportTellsWhetherAnythingWasObserved) {
  Json json = report();
  json["run"]["observed"] = false;
  EXPECT_EQ(read(json).processes, 0u);
  json["run"].erase("observed");
  EXPECT_FALSE(account_of(json, "run.json", {}).ok());
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
  Json blind = report();
  blind["coverage"]["rules"][0] = {{"rule", "cache-grows"}, {"judged", "not"}, {"because", "nothing was looked at"}};
  EXPECT_TRUE(read(blind, settings).unjudged.empty()) << "nobody asks what an ignored rule could not judge";
  EXPECT_EQ(read(blind).unjudged.size(), 1u);
  settings.select = {"dtype-*"};
  EXPECT_TRUE(read(report(), settings).findings.empty());
}

TEST(AccountTest, ALineWithoutTextIsKnownByItsNumber) {
  Json without = report();
  without["source_files"] = Json::array();
  EXPECT_EQ(read(without).sites[0].text, "line 8");
}

TEST(AccountTest, WhatIsNoReportIsASentence) {
  const auto error = [](const Json& json) { return std::string(account_of(json, "run.json", {}).status().message()); };
  EXPECT_THAT(error(Json::array()), HasSubstr("run.json is not a castscope report"));
  EXPECT_THAT(error({{"version", 1}}), HasSubstr("run.json is not a castscope report"));
  Json newer = report(), part = report();
  newer["format"] = 7;
  EXPECT_THAT(error(newer), HasSubstr("a report of format 7, and this castscope knows formats 1 and 2"));
  EXPECT_THAT(error({{"document", "check"}, {"format", 2}, {"run", Json::object()}}),
              HasSubstr("run.json is a document of the kind \"check\" and no report"));
  part["totals"].erase("casts");
  EXPECT_THAT(error(part), HasSubstr("run.json is not a complete castscope report"));
  part = report();
  part["sites"][0]["casts"] = "many";
  EXPECT_THAT(error(part), HasSubstr("run.json is not a complete castscope report"));
}

// A report may have been edited by hand, damaged, or written by a tool that rounds: a report that cannot be judged must
// not pass.
TEST(AccountTest, WhatIsWrongInAReportIsToldWithItsPlace) {
  const auto error_with = [](const char* pointer, const Json& value) {
    Json json = report();
    const Json::json_pointer at(pointer);
    if (value.is_discarded())
      json.at(at.parent_pointer()).erase(at.back());
    else
      json[at] = value;
    const std::string message(account_of(json, "run.json", {}).status().message());
    constexpr std::string_view kBegin = "run.json is not a complete castscope report: ";
    EXPECT_THAT(message, StartsWith(std::string(kBegin)));
    return message.substr(std::min(message.size(), kBegin.size()));
  };
  const Json missing(Json::value_t::discarded);
  const std::string no_count = " is not a whole number from 0 to 18446744073709551615";
  EXPECT_EQ(error_with("/run/exit_status", missing), "\"run.exit_status\" is missing");
  EXPECT_EQ(error_with("/run/exit_status", "0"), "\"run.exit_status\" is not a whole number of 64 bits");
  EXPECT_EQ(error_with("/coverage", missing), "\"coverage\" is missing");
  EXPECT_EQ(error_with("/coverage/rules", Json::array()), "\"coverage.rules\" names no rule, so nothing was judged");
  EXPECT_EQ(error_with("/run/complete", 1), "\"run.complete\" is neither true nor false");
  EXPECT_EQ(error_with("/findings", Json::object()), "\"findings\" is not a list");
  EXPECT_EQ(error_with("/findings/1", "x"), "\"findings[1]\" is not an object");
  EXPECT_EQ(error_with("/findings/0/severity", "grave"),
            "\"findings[0].severity\" cannot be: \"grave\" is not a severity");
  EXPECT_EQ(error_with("/processes", 1), "\"processes\" is not a list");
  EXPECT_EQ(error_with("/processes", "two"), "\"processes\" is not a list");
  EXPECT_EQ(error_with("/run", Json::array()), "\"run\" is not an object");
  EXPECT_EQ(error_with("/run/notices", Json::array({1})), "\"run.notices[0]\" is not text");
  for (const Json& number : {Json(1e30), Json(-1), Json(0.5), Json("6"), Json()}) {
    EXPECT_EQ(error_with("/totals/cpu_ns", number), "\"totals.cpu_ns\"" + no_count) << number;
    EXPECT_EQ(error_with("/sites/1/casts", number), "\"sites[1].casts\"" + no_count) << number;
    EXPECT_EQ(error_with("/cache/cache_peak_bytes", number), "\"cache.cache_peak_bytes\"" + no_count) << number;
  }
  EXPECT_EQ(error_with("/step_runs/1/end_ns", 1e30), "\"step_runs[1].end_ns\" is not a whole number of 64 bits");
  EXPECT_EQ(error_with("/frames/0/line", true), "\"frames[0].line\" is not a whole number of 64 bits");
  EXPECT_EQ(error_with("/sites/0/stack_index", 1),
            "\"sites[0].stack_index\" names a place that its list does not have");
  EXPECT_EQ(error_with("/stacks/0/frame_index", -1), "\"stacks[0].frame_index\"" + no_count);
}

TEST(AccountTest, NumbersThatAToolWroteAnotherWayAreTheSame) {
  Json json = report();
  json["totals"]["casts"] = 6.0;
  json["run"]["exit_status"] = nullptr;
  json["step_runs"][0] = {{"begin_ns", INT64_MIN}, {"end_ns", INT64_MAX}};
  json["step_runs"][1] = {{"begin_ns", 5}, {"end_ns", 4}};
  const Account account = read(json);
  EXPECT_EQ(account.casts, 6u);
  EXPECT_EQ(account.steps_ns, UINT64_MAX);
  EXPECT_EQ(account.failure, "");
}

TEST(AccountTest, PathsAreIgnoredAsTheyAreShown) {
  Json json = report();
  rules::Settings settings;
  settings.per_path = {{"train.py", {"*"}}};
  for (const char* began : {"/job", "/job/sub", "/elsewhere"}) {
    json["run"]["cwd"] = began;
    EXPECT_TRUE(read(json, settings).findings.empty()) << began;
  }
}

TEST(AccountTest, WhyARunIsNotWhole) {
  Account account = read(report());
  EXPECT_THAT(why_incomplete(account), ElementsAre());
  account.failure = "signal 9";
  account.complete = false;
  EXPECT_THAT(why_incomplete(account), ElementsAre("not all of the run was seen",
                                                   "the job failed (signal 9): what it did not come to was not seen"));
  account.processes = 0;
  EXPECT_THAT(why_incomplete(account)[0], HasSubstr("no process was seen that used PyTorch's autocast"));
  account.damage = "the run file is cut short";
  EXPECT_EQ(why_incomplete(account)[0], "the run file is cut short");
}

TEST(AccountTest, WhatCannotBeReadIsASentence) {
  const auto error = [](const std::string& file) { return std::string(read_account(file, {}).status().message()); };
  EXPECT_THAT(error("/nowhere/run.json"), HasSubstr("/nowhere/run.json cannot be read: No such file"));
  EXPECT_THAT(error(std::filesystem::temp_directory_path().string()), HasSubstr("is a folder"));
  EXPECT_THAT(error("/dev/zero"), HasSubstr("is a device"));
  std::string file = (std::filesystem::temp_directory_path() / "castscope-account-XXXXXX").string();
  ::close(mkstemp(file.data()));
  EXPECT_THAT(error(file), HasSubstr(" is empty"));
  std::ofstream(file) << report().dump().substr(0, 200);
  EXPECT_THAT(error(file), HasSubstr("was cut short"));
  std::ofstream(file) << report();
  EXPECT_TRUE(read_account(file, {}).ok());
  std::ofstream(file) << "\xef\xbb\xbf\n " << report();
  EXPECT_TRUE(read_account(file, {}).ok());
  std::filesystem::resize_file(file, 2 * kMostReportBytes);  // it takes no room on the disk
  EXPECT_THAT(error(file), HasSubstr("has more than 1024 MiB"));
  std::filesystem::remove(file);
}

Json golden(const std::string& path) {
  std::ifstream file(std::string(CASTSCOPE_SOURCE_DIR) + "/tests/golden/" + path);
  return Json::parse(file);
}

// The same runs, as castscope wrote them before and as it writes them now.
TEST(AccountTest, ReportsOfFormat1AreStillRead) {
  for (const std::string name : {"two_ranks.json", "killed.json"}) {
    const Account before = read(golden("format_1/" + name)), now = read(golden("reports/" + name));
    EXPECT_FALSE(now.sites.empty());
    std::vector<AccountSite> sites = before.sites;  // the costliest came first
    EXPECT_TRUE(std::ranges::is_permutation(sites, now.sites)) << name;
    EXPECT_EQ(before.precision, now.precision);
    EXPECT_EQ(before.fingerprints, now.fingerprints);
    // Rules that were called full then, though they depend on deep steps, came to the others since.
    for (const AccountRule& of : before.unjudged)
      EXPECT_NE(std::ranges::find(now.unjudged, of), now.unjudged.end()) << name << " " << of.rule;
    EXPECT_EQ(before.project, now.project);
    EXPECT_EQ(before.failure, now.failure);
    EXPECT_EQ(
        std::tie(before.casts, before.hits, before.passes, before.steps, before.steps_ns, before.cache_peak_bytes),
        std::tie(now.casts, now.hits, now.passes, now.steps, now.steps_ns, now.cache_peak_bytes));
  }
}

TEST(AccountTest, AReportOfFormat1ThatIsDamagedIsToldByWhatIsMissing) {
  Json report = golden("format_1/two_ranks.json");
  report["totals"].erase("casts");
  EXPECT_THAT(std::string(account_of(report, "run.json", {}).status().message()),
              HasSubstr("\"totals.casts\" is missing"));
  for (const char* const key : {"run", "totals", "cache", "steps", "sites", "findings", "source", "processes"}) {
    for (const Json& value : {Json(1), Json("x"), Json(), Json::array({1}), Json{{"x", Json::array({Json()})}}}) {
      Json wrong = golden("format_1/two_ranks.json");
      wrong[key] = value;
      EXPECT_FALSE(account_of(wrong, "run.json", {}).ok()) << key << " " << value;
    }
  }
}

TEST(AccountTest, WhatANewerMinorFormatAddsIsIgnored) {
  Json json = report();
  json["format_minor"] = 9;
  json["news"] = 1;
  json["sites"][0]["news"] = Json::array({1});
  json["sites"][0]["cause"] = "a cause of tomorrow";
  EXPECT_EQ(read(json).sites[0].cause, "a cause of tomorrow");
}

// A gate says the same about a run and about the report that was written of it.
TEST(AccountTest, OfARunAndOfItsReportAreTheSame) {
  const std::string file = ::testing::TempDir() + "account-" + std::to_string(getpid()) + ".castscope";
  store::RunStart start;
  start.command = {"python", "train.py"};
  start.cwd = "/home/user/project";
  auto opened = store::RunStore::create(file, start);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  store::TestRun run(**opened);
  run.enter(run.region("train.py", 10));
  const auto weight = run.weight("train.py", 11, "head", lanes::WhyNotCached::kNoRequiresGrad);
  run.cast(weight, 0x100).cast(weight, 0x100);
  const auto mm =
      run.use({.op = "aten::mm",
               .line = 12,
               .operands = {store::operand(store::kBFloat16), store::operand(store::kBFloat16, lanes::Role::kWeight)},
               .module = "head"});
  const auto arange = run.use({.op = "aten::arange", .line = 13, .computed = store::kBFloat16, .module = "head"});
  const auto to = run.use({.op = "aten::to.dtype", .line = 14, .operands = {store::operand(store::kFloat32)}});
  const auto loss = run.fact(lanes::FactKind::kMetric, 15, {.text = "loss"});
  run.deep().called(mm).called(arange).called(to).shallow().metric(loss, 1.5).exit().end();
  ASSERT_TRUE((*opened)->notice("a notice").ok());
  ASSERT_TRUE(
      (*opened)->finish({.end_ns = 2'000'000'000'000'000'000, .exit_status = 3, .signal = {}, .complete = true}).ok());
  const auto judged = judging::judged(*(*opened)->read(), {});
  ASSERT_TRUE((*opened)->close().ok());
  std::filesystem::remove(file);

  const Model model = model_of(*judged);
  const Account one = account_of(model, "run.castscope"), other = read(to_json(model));
  EXPECT_FALSE(one.findings.empty());
  EXPECT_FALSE(one.sites.empty());
  EXPECT_FALSE(one.precision.empty());
  EXPECT_EQ(one.failure, "exit status 3");
  EXPECT_EQ(one.sites, other.sites);
  EXPECT_EQ(one.precision, other.precision);
  ASSERT_EQ(one.operators.size(), 1u) << "a product with a weight and a conversion are told elsewhere";
  EXPECT_EQ(one.operators[0].half_from, "code");
  EXPECT_EQ(one.operators, other.operators);
  EXPECT_EQ(one.metrics, (std::vector<AccountMetric>{{"loss", 1.5, 1.5}}));
  EXPECT_EQ(one.metrics, other.metrics);
  EXPECT_EQ(one.lines, other.lines);
  EXPECT_EQ(one.fingerprints, other.fingerprints);
  EXPECT_EQ(one.notices, other.notices);
  EXPECT_EQ(one.files_with_text, other.files_with_text);
  // A report says paths as they are from the root.
  const auto words = [](const Account& a) {
    std::vector<std::string> all = {a.command, a.run_folder, a.project, a.damage, a.failure};
    for (const store::Finding& f : a.findings) {
      const store::CodeLocation at = f.location.value_or(store::CodeLocation());
      for (const std::string& word : {f.rule, f.severity, f.title, f.fix, portable_path(at.file, a.project),
                                      at.function, std::to_string(at.line)})
        all.push_back(word);
    }
    return all;
  };
  EXPECT_EQ(words(one), words(other));
  const auto numbers = [](const Account& a) {
    return std::vector<std::uint64_t>{a.complete,       a.processes,
                                      a.casts,          a.hits,
                                      a.passes,         a.bytes,
                                      a.cpu_ns,         a.cache_peak_bytes,
                                      a.steps,          a.cache_peak_entries,
                                      a.steps_ns,       a.ignored_by_settings,
                                      a.ignored_in_code};
  };
  EXPECT_EQ(numbers(one), numbers(other));
}

}  // namespace
}  // namespace castscope::report
