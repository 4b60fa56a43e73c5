// Tests the reports of a run. The golden files are tests/golden/reports/NAME.json and NAME.txt;
// CASTSCOPE_UPDATE_GOLDEN=1 writes them. tests/golden/test_report_schema.py checks the JSON against the schema.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "server/report/forms/csv.h"
#include "server/report/forms/formats.h"
#include "server/report/forms/json.h"
#include "server/report/forms/markdown.h"
#include "server/report/forms/terminal.h"
#include "server/report/html/page.h"
#include "server/report/model/totals.h"
#include "server/store/file/sqlite.h"
#include "server/store/read/run_reader.h"
#include "server/store/testing/test_run.h"
#include "server/store/write/run_store.h"

namespace castscope::report {
namespace {

using lanes::WhyNotCached;
using store::RunStore;
using store::TestRun;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::uint64_t kWeight = 0x7f0000001000;
constexpr std::int64_t kStart = 1'795'000'000'000'000'000;  // 2026-11-18T11:06:40Z

class ReportTest : public ::testing::Test {
 protected:
  ReportTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "castscope-report-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    auto store = RunStore::create(path(), {.run_id = "run-1",
                                           .command = {"python", "train.py"},
                                           .cwd = "/home/user/project",
                                           .host = "host",
                                           .castscope_version = "0.1.0",
                                           .start_ns = kStart});
    EXPECT_TRUE(store.ok()) << store.status().message();
    store_ = *std::move(store);
  }
  ~ReportTest() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return (folder_ / "run.castscope").string(); }
  static store::RunEnd good_end() {
    return {.end_ns = kStart + 61'500'000'000, .exit_status = 0, .signal = {}, .complete = true};
  }
  store::RunData finish(store::RunEnd end = good_end()) {
    EXPECT_TRUE(store_->finish(end).ok());
    EXPECT_TRUE(store_->close().ok());
    auto data = store::read_run(path());
    EXPECT_TRUE(data.ok()) << data.status().message();
    return *std::move(data);
  }
  std::string events_in(Format format) {
    std::ostringstream out;
    const absl::Status status = write_report(path(), format, {}, out);
    EXPECT_TRUE(status.ok()) << status.message();
    return out.str();
  }
  static void expect_golden(const std::string& name, const std::string& text) {
    const std::string path = std::string(CASTSCOPE_SOURCE_DIR) + "/tests/golden/reports/" + name;
    if (std::getenv("CASTSCOPE_UPDATE_GOLDEN")) std::ofstream(path) << text;
    std::ifstream file(path);
    std::stringstream golden;
    golden << file.rdbuf();
    EXPECT_EQ(text, golden.str()) << path;
  }

  // Records two ranks that train: a kept weight, an input, a frozen weight that is used twice, a pass-through, and a
  // cast that the user's code makes.
  void train(std::int64_t pid, int rank) {
    TestRun run(*store_, pid);
    ASSERT_TRUE(store_->define(run.key(), store::AttributeInfo{"torch_version", "2.13.0+cpu"}).ok());
    ASSERT_TRUE(store_->define(run.key(), store::AttributeInfo{"python_version", "3.11.7"}).ok());
    ASSERT_TRUE(store_->define(run.key(), store::AttributeInfo{"rank", std::to_string(rank)}).ok());
    ASSERT_TRUE(store_->define(run.key(), store::AttributeInfo{"notice", "the cache was cleared by hand"}).ok());
    ASSERT_TRUE(store_->define(run.key(), store::ThreadInfo{.id = 1, .lane = 1, .tid = 101, .name = "python"}).ok());
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "encoder.0");
    const auto input = run.input("train.py", 8, "encoder.0");
    const auto frozen = run.weight("train.py", 9, "head", WhyNotCached::kNoRequiresGrad);
    const auto pass = run.pass_through("aten::add");
    store::SiteInfo user;
    user.stack = run.line("data.py", 3);
    user.op = "aten::to";
    user.cause = lanes::Cause::kUserTo;
    user.why = WhyNotCached::kNotAutocast;
    user.phase = lanes::Phase::kOther;
    user.from = 7;
    user.to = 6;
    const auto to = run.site(user);
    for (int i = 0; i < 3; ++i) {
      run.step().cast(to, 0x20, false, 64).enter(region).cast(input, 0x10, false, 500).cast(weight, kWeight, true);
      run.hit(weight, kWeight).cast(frozen, 0x30).cast(frozen, 0x30).pass(pass, 2).exit();
    }
    run.end();
  }

  std::filesystem::path folder_;
  std::unique_ptr<RunStore> store_;
};

TEST_F(ReportTest, TwoRanks) {
  train(100, 0);
  train(101, 1);
  const store::RunData data = finish();
  expect_golden("two_ranks.json", json_text(data));
  expect_golden(
      "two_ranks.txt",
      summary(data, {.width = 80, .colour = false, .run_file = "train.castscope", .report_file = "train.json"}));
}

TEST_F(ReportTest, ARowOfCsvIsOneSite) {
  train(100, 0);
  const store::RunData data = finish();
  const std::string csv = csv_text(model_of(data));
  EXPECT_THAT(csv, StartsWith("site,fingerprint,file,line,function,model,module,module_type,operator,argument,role,"
                              "from_dtype,to_dtype,device,cause,phase,region,casts,cache_hits,kept,why_not_cached,"
                              "bytes,cpu_ns,first_cpu_ns,gpu_ns,gpu_ns_at_most,source_text\r\n"));
  EXPECT_THAT(csv,
              ContainsRegex("\n[0-9]+,[0-9a-f]{16}:1,train.py,9,.*,weight,float32,bfloat16,cpu,autocast,forward,"));
}

// castscope.step() at the end of each step, or at the beginning of each, makes three steps of three.
TEST_F(ReportTest, StepsInWhichNothingWasBegunAtEitherEndAreNoSteps) {
  for (const bool at_begin : {false, true}) {
    TestRun run(*store_, at_begin ? 101 : 100);
    const auto weight = run.weight("train.py", 8, "fc");
    for (int i = 0; i < 3; ++i) {
      if (at_begin) run.step();
      run.cast(weight, kWeight);
      if (!at_begin) run.step();
    }
    run.end();
  }
  const auto json = to_json(finish());
  EXPECT_EQ(json["totals"]["step_count"], 3);
}

TEST_F(ReportTest, ATracedJobIsToldWhatIsNotCounted) {
  TestRun run(*store_);
  run.counter(run.weight("train.py", 8, "fc")).traced = 24;
  run.end();
  const store::RunData data = finish();
  EXPECT_EQ(to_json(data)["run"]["notices"], nlohmann::json::array({kTracedNotice}));
  std::string text = summary(data, {.width = 160, .colour = false, .run_file = "", .report_file = ""});
  EXPECT_THAT(text, HasSubstr("24 while tracing. No findings"));
  for (std::size_t at; (at = text.find("\n  ")) != std::string::npos;) text.replace(at, 3, " ");  // as one line
  EXPECT_THAT(text, HasSubstr(kTracedNotice));
}

TEST_F(ReportTest, CastsRegisteredInPythonAreAskedForByAutocast) {
  TestRun run(*store_);
  store::SiteInfo site{.stack = run.line("train.py", 12), .region = run.region("train.py", 11), .op = "aten::to"};
  site.cause = lanes::Cause::kCustomCast;
  run.cast(run.site(site), kWeight).end();
  EXPECT_THAT(summary(finish(), {}), Not(HasSubstr("never asked")));
}

TEST_F(ReportTest, ARunThatCastNothing) {
  const store::RunData data = finish();
  expect_golden("nothing.json", json_text(data));
  expect_golden("nothing.txt", summary(data, {}));
}

// A name may hold anything, and a terminal obeys control characters.
TEST_F(ReportTest, NamesCannotSpeakToTheTerminal) {
  TestRun run(*store_);
  run.step().cast(run.weight("tr\x1b[2Jain.py", 8, "fc\x1b[31mred\nline\xc2\x9b\x35m"), kWeight);
  run.end();
  const std::string text = summary(finish(), {.width = 160, .colour = false, .run_file = "", .report_file = ""});
  EXPECT_THAT(text, HasSubstr("fc?[31mred?line??5m"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST_F(ReportTest, AKilledJob) {
  TestRun run(*store_);
  run.step().cast(run.weight("train.py", 8, "fc"), kWeight, true).lane(0).counter(0).hits = 4;
  run.lane(1).end(store::ProcessEnd::kVanished);
  const store::RunData data =
      finish({.end_ns = kStart + 1'000'000'000, .exit_status = {}, .signal = 9, .complete = false});
  const auto json = to_json(data);
  EXPECT_EQ(json["run"]["exit_status"], 137);
  EXPECT_EQ(json["run"]["signal"], 9);
  EXPECT_EQ(json["run"]["complete"], false);
  EXPECT_EQ(json["processes"][0]["end_kind"], "vanished");
  EXPECT_EQ(json["totals"]["cache_hits"], 4);
  EXPECT_EQ(json["totals"]["beyond_sites"]["cache_hits"], 4);
  expect_golden("killed.json", json_text(data));
  EXPECT_THAT(summary(data, {}), HasSubstr("gone without an end mark"));
  EXPECT_THAT(summary(data, {}), HasSubstr("The job was ended by signal 9 (SIGKILL)."));
}

TEST_F(ReportTest, ARunWhoseProcessVanishedIsNotComplete) {
  TestRun(*store_).end(store::ProcessEnd::kVanished);
  EXPECT_EQ(to_json(finish())["run"]["complete"], false);
}

TEST_F(ReportTest, OnlyAutocastAndWhatHasNoSiteMakeTheTotals) {
  train(100, 0);
  const auto totals = to_json(finish())["totals"];
  EXPECT_EQ(totals["casts"], 12);
  EXPECT_EQ(totals["cache_hits"], 3);
  EXPECT_EQ(totals["pass_throughs"], 6);
  EXPECT_EQ(totals["bytes"], 3 * (500 + 1000 + 2000));
  EXPECT_EQ(totals["by_cause"][0]["cause"], "autocast");
  EXPECT_EQ(totals["by_cause"][0]["casts"], 12);
  EXPECT_EQ(totals["by_cause"][1],
            (nlohmann::ordered_json{{"cause", "user_to"}, {"casts", 3}, {"bytes", 192}, {"cpu_ns", 1'500}}));
}

// The tables count casts of every cause: the summary tells people what the rest of the casts are, and what they took.
TEST_F(ReportTest, PeopleAreToldWhatTheTotalsLeaveOut) {
  train(100, 0);
  const store::RunData data = finish();
  const Model all = model_of(data);
  store::Counts at_sites;
  for (const SiteTotal& site : all.sites) at_sites += site.counts;
  EXPECT_EQ(at_sites.casts, all.totals.autocast.casts + all.totals.others.casts);
  EXPECT_EQ(at_sites.cpu_ns, all.totals.autocast.cpu_ns + all.totals.others.cpu_ns);
  EXPECT_EQ(other_causes(all), "3 user_to; 192 bytes copied in 2 µs of CPU time");
  EXPECT_THAT(totals_line(all), HasSubstr("12 casts by autocast, "));
  EXPECT_THAT(markdown_text(all), HasSubstr("Casts not by autocast: 3 user\\_to; 192 bytes copied in 2 µs"));
  EXPECT_THAT(html_text(all), HasSubstr("Casts of every cause: 15 casts in 8 µs of CPU time, 3 of them (2 µs) not by"));
}

TEST_F(ReportTest, SitesAddUpToTheTotals) {
  train(100, 0);
  train(101, 1);
  const auto json = to_json(finish());
  std::int64_t casts = 0, hits = 0, bytes = 0, passes = 0;
  for (const auto& site : json["sites"]) {
    if (site["cause"] != "autocast") continue;
    casts += site["casts"].get<int>();
    hits += site.value("cache_hits", 0);
    bytes += site.value("bytes", 0);
  }
  for (const auto& pass : json["pass_through_places"]) passes += pass["pass_throughs"].get<int>();
  EXPECT_EQ(casts, json["totals"]["casts"]);
  EXPECT_EQ(hits, json["totals"]["cache_hits"]);
  EXPECT_EQ(bytes, json["totals"]["bytes"]);
  EXPECT_EQ(passes, json["totals"]["pass_throughs"]);
}

TEST_F(ReportTest, DroppedEventsAreCountedAndWrittenIsAllThatWasMade) {
  TestRun run(*store_);
  const auto weight = run.weight("train.py", 8, "fc");
  run.step().cast(weight, kWeight, true).hit(weight, kWeight).drop().hit(weight, kWeight);
  run.end();
  const store::RunData data = finish();
  const auto json = to_json(data);
  EXPECT_EQ(json["totals"]["events_lost"], 3);
  EXPECT_EQ(json["processes"][0]["events_made"], 4);
  EXPECT_EQ(json["processes"][0]["events_received"], 1);
  EXPECT_EQ(json["processes"][0]["events_dropped"], 3);
  EXPECT_EQ(json["totals"]["cache_hits"], 2);
  EXPECT_THAT(summary(data, {}), HasSubstr("3 events were dropped: totals are exact"));
}

TEST_F(ReportTest, TotalsOfAProcessThatStoppedCountingAreNotCalledExact) {
  TestRun run(*store_);
  const auto weight = run.weight("train.py", 8, "fc");
  run.cast(weight, kWeight, true).drop().hit(weight, kWeight);
  ASSERT_TRUE(store_->define(run.key(), store::AttributeInfo{"stopped", "1"}).ok());
  run.end();
  EXPECT_THAT(summary(finish(), {}), AllOf(HasSubstr("1 event was dropped"), Not(HasSubstr("exact"))));
}

TEST_F(ReportTest, NamesThatAreNotUtf8DoNotCostTheReport) {
  TestRun run(*store_);
  run.cast(run.weight("caf\xe9.py", 8, "fc"), kWeight, true);
  run.end();
  EXPECT_THAT(json_text(finish()), HasSubstr("caf\xef\xbf\xbd.py"));
}

TEST_F(ReportTest, TheSummaryKeepsToItsWidthAndToPlainText) {
  train(100, 0);
  const store::RunData data = finish();
  for (int width : {60, 80, 120}) {
    std::istringstream lines(summary(data, {.width = width, .colour = false, .run_file = "", .report_file = ""}));
    for (std::string line; std::getline(lines, line);) {
      const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
      const auto columns = line.size() - std::count_if(line.begin(), line.end(), continues);
      EXPECT_LE(columns, static_cast<std::size_t>(width)) << line;
      EXPECT_THAT(line, Not(HasSubstr("\033")));
    }
  }
  EXPECT_THAT(summary(data, {.width = 80, .colour = true, .run_file = "", .report_file = ""}), HasSubstr("\033["));
}

TEST_F(ReportTest, EventsBecomeLines) {
  train(100, 0);
  finish();
  std::istringstream lines(events_in(Format::kJsonLines));
  std::map<std::string, int> kinds;
  for (std::string line; std::getline(lines, line);) {
    const auto event = nlohmann::json::parse(line);
    ++kinds[event["event_kind"]];
    EXPECT_EQ(event["pid"], 100);
    EXPECT_GT(event["time_ns"], 0);
    EXPECT_LT(event["time_ns"], std::int64_t{60'000'000'000}) << "times are since the run's start";
    EXPECT_EQ(event.contains("from_dtype"), event["event_kind"] == "cast" || event["event_kind"] == "cache_hit")
        << line;
    EXPECT_EQ(event.value("line", 0) == 5,
              event["event_kind"] == "region_enter" || event["event_kind"] == "region_exit")
        << line;
  }
  EXPECT_EQ(kinds, (std::map<std::string, int>{{"cast", 15},
                                               {"cache_hit", 3},
                                               {"region_enter", 3},
                                               {"region_exit", 3},
                                               {"cache_clear", 3},
                                               {"step_begin", 3}}));
}

TEST_F(ReportTest, WhereEventsAreNotKeptALineSaysSo) {
  store_ = *RunStore::create(path(), {},
                             {.keep_all = false, .first_window_bytes = 1, .newest_window_bytes = 1, .overwrite = true});
  TestRun run(*store_);
  const auto weight = run.weight("train.py", 8, "fc");
  for (int i = 0; i < 9; ++i) run.cast(weight, kWeight, true).flush();
  run.end();
  finish();
  std::istringstream lines(events_in(Format::kJsonLines));
  std::string kinds;
  for (std::string line; std::getline(lines, line);)
    kinds += nlohmann::json::parse(line)["event_kind"].get<std::string>() + " ";
  EXPECT_EQ(kinds, "cast gap cast ");
}

TEST_F(ReportTest, EventsBecomeATrace) {
  train(100, 0);
  finish();
  const auto trace = nlohmann::json::parse(events_in(Format::kChrome));
  std::map<std::string, int> phases;
  for (const auto& event : trace["traceEvents"]) ++phases[event["ph"]];
  EXPECT_EQ(phases, (std::map<std::string, int>{{"M", 2}, {"X", 15}, {"B", 3}, {"E", 3}, {"i", 9}}));
}

TEST_F(ReportTest, EventsOfAnotherFormatAreNoDamage) {
  train(100, 0);
  finish();
  auto database = store::Database::open(path(), SQLITE_OPEN_READWRITE);
  ASSERT_TRUE(
      database->exec("UPDATE event_blocks SET packed_events = CAST(x'01' || substr(packed_events, 2) AS BLOB)").ok());
  std::ostringstream out;
  EXPECT_THAT(std::string(write_report(path(), Format::kJsonLines, {}, out).message()),
              testing::EndsWith(": the run file has events packed in format 1, this castscope reads format 4; "
                                "convert it with the castscope that wrote it"));
}

// A file is read or refused, whatever happens to its bytes.
TEST_F(ReportTest, DamagedFilesAreReadOrRefused) {
  train(100, 0);
  finish();
  std::ifstream file(path(), std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(file), {}};
  const std::string damaged = (folder_ / "damaged").string();
  std::mt19937 random(7);
  int read = 0, refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string bytes = good;
    for (int i = 0; i < 1 + round % 20; ++i) bytes[100 + random() % (bytes.size() - 100)] = static_cast<char>(random());
    std::ofstream(damaged, std::ios::binary) << bytes;
    const auto data = store::read_run(damaged);
    data.ok() ? ++read : ++refused;
    if (!data.ok()) continue;
    EXPECT_FALSE(json_text(*data).empty());
    EXPECT_FALSE(summary(*data, {}).empty());
    std::ostringstream out;
    (void)write_report(damaged, Format::kJsonLines, {}, out);
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(refused, 0);
}

TEST_F(ReportTest, ConvertingSomethingElseIsASentence) {
  std::ostringstream out;
  const std::string other = (folder_ / "other").string();
  std::ofstream(other) << "hello";
  EXPECT_THAT(write_report(other, Format::kJsonLines, {}, out).message(), HasSubstr("not a castscope run file"));
  EXPECT_FALSE(format_of("xml").has_value());
}

}  // namespace
}  // namespace castscope::report
