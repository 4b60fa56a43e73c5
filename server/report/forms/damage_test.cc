// Run files that were cut short or damaged after they were written: the report contains everything that can be read,
// and a sentence says that something is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "server/report/compare/account.h"
#include "server/report/compare/gate.h"
#include "server/report/forms/formats.h"
#include "server/report/timelines/json_lines.h"
#include "server/store/file/sqlite.h"
#include "server/store/read/run_reader.h"
#include "server/store/testing/test_run.h"
#include "server/store/write/run_store.h"

namespace castscope::report {
namespace {

using store::RunStore;
using store::TestRun;
using ::testing::HasSubstr;

class DamageTest : public ::testing::Test {
 protected:
  DamageTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "castscope-damage-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~DamageTest() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name = "run.castscope") const { return (folder_ / name).string(); }

  // Fills several pages of most tables, and casts a weight twice in a region, which rules find.
  void record(int lines = 200) {
    auto store = *RunStore::create(path(), {.run_id = "run-1",
                                            .command = {"python", "train.py"},
                                            .cwd = "/job",
                                            .host = "host",
                                            .castscope_version = "0.1.0",
                                            .start_ns = 1'795'000'000'000'000'000});
    TestRun run(*store);
    const std::uint32_t region = run.region("train.py", 5);
    const std::uint32_t twice = run.weight("train.py", 8, "base", lanes::WhyNotCached::kNoRequiresGrad);
    std::vector<std::uint32_t> sites;
    for (int line = 0; line < lines; ++line) sites.push_back(run.weight("train.py", 10 + line, "blocks.fc"));
    std::uint64_t tensor = 0x7f0000000000;
    for (int step = 0; step < 10; ++step) {
      run.enter(region);
      for (const std::uint32_t site : sites) {
        tensor += 64;
        run.cast(site, tensor, true).hit(site, tensor);
      }
      run.cast(twice, 0x10).cast(twice, 0x10);
      run.exit().step();
      run.flush();
    }
    run.end();
    ASSERT_TRUE(store->finish({.end_ns = 1, .exit_status = 0, .signal = {}, .complete = true}).ok());
    ASSERT_TRUE(store->close().ok());
    std::ifstream in(path(), std::ios::binary);
    whole_.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::string write(const std::string& bytes) {
    std::ofstream(path("bad.castscope"), std::ios::binary) << bytes;
    return path("bad.castscope");
  }
  absl::Status report(Format format, const std::string& file, std::string* text) {
    std::ostringstream out;
    const absl::Status status = write_report(file, format, rules::Settings(), out);
    *text = out.str();
    return status;
  }

  std::filesystem::path folder_;
  std::string whole_;
};

TEST_F(DamageTest, WithoutItsEventsAFileIsReportedAsItWasAndTheirLossIsTold) {
  record();
  std::string before, after, events;
  ASSERT_TRUE(report(Format::kJson, path(), &before).ok());
  // This damages the root page of the one table that no report needs.
  auto database = store::Database::open(path(), SQLITE_OPEN_READWRITE);
  auto root = store::Statement::prepare(*database, "SELECT rootpage FROM sqlite_master WHERE name = 'event_blocks'");
  ASSERT_TRUE(*root->next());
  std::string damaged = whole_;
  const auto page = static_cast<std::size_t>(root->number(0));
  std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>((page - 1) * 4096), 4096, '\x5a');
  const std::string file = write(damaged);
  EXPECT_TRUE(absl::IsDataLoss(report(Format::kJson, file, &after)));
  auto was = nlohmann::json::parse(before), now = nlohmann::json::parse(after);
  EXPECT_THAT(now["run"]["damage"].get<std::string>(), HasSubstr("what was counted is all there"));
  for (const char* told : {"damage", "complete", "missing", "notices"}) was["run"].erase(told), now["run"].erase(told);
  EXPECT_EQ(now, was);
  std::ostringstream lines;
  EXPECT_TRUE(absl::IsDataLoss(json_lines(file, lines)));
  const absl::Status trace = report(Format::kChrome, file, &events);
  EXPECT_TRUE(absl::IsDataLoss(trace)) << trace.message();
  EXPECT_TRUE(nlohmann::json::accept(events)) << events.substr(0, 200);
}

TEST_F(DamageTest, WhateverIsLeftIsReportedAndGivesNoVerdict) {
  record();
  std::size_t reported = 0, judged = 0;
  for (std::size_t left = 5000; left < whole_.size(); left += 4099) {
    const std::string file = write(whole_.substr(0, left));
    const auto data = store::read_as_it_is(file);
    if (!data.ok()) {
      EXPECT_THAT(std::string(data.status().message()), HasSubstr("cut short"));
      continue;
    }
    ++reported;
    ASSERT_TRUE(data->damage);
    judged += data->damage->evidence ? 0 : 1;
    EXPECT_THAT(data->damage->sentence, HasSubstr("cut short: "));
    for (const FormatName& form : formats()) {
      std::string text;
      const absl::Status status = report(form.format, file, &text);
      EXPECT_TRUE(absl::IsDataLoss(status)) << form.name << ": " << status.message();
      EXPECT_THAT(std::string(status.message()), HasSubstr(data->damage->sentence));
      EXPECT_TRUE(!text.empty() || form.name == "jsonl") << form.name;  // none of its lines may be left
      if (form.name == "json" || form.name == "sarif" || form.name == "chrome" || form.name == "speedscope") {
        EXPECT_TRUE(nlohmann::json::accept(text)) << form.name;
      }
    }
    const auto account = read_account(file, rules::Settings());
    ASSERT_TRUE(account.ok()) << account.status().message();
    EXPECT_EQ(account->damage, data->damage->sentence);
    EXPECT_EQ(account->findings.empty(), data->damage->evidence);
    Gate gate;
    gate.allow_incomplete = true;
    EXPECT_EQ(examine(*account, gate, nullptr).outcome, Outcome::kIncomplete);
  }
  EXPECT_GT(reported, 10u);
  EXPECT_GT(judged, 0u);
  EXPECT_LT(judged, reported);
}

// Meaningless numbers, rows of other tables and loops of pages lead to a sentence or to the same report, never to a
// crash.
TEST_F(DamageTest, AnyBytesMayBeWrong) {
  record(60);
  std::string before;
  ASSERT_TRUE(report(Format::kJson, path(), &before).ok());
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same files each time
  for (int file = 0; file < 60; ++file) {
    std::string damaged = whole_;
    for (int n = 0; n < 1 << (file % 8); ++n) {
      const std::size_t at = 100 + random() % (damaged.size() - 100);
      damaged[at] = static_cast<char>(random());
    }
    const std::string name = write(damaged);
    for (const FormatName& form : formats()) {
      std::string text;
      const absl::Status status = report(form.format, name, &text);
      if (!status.ok()) {
        EXPECT_THAT(std::string(status.message()), HasSubstr("bad.castscope"));
      } else if (form.format == Format::kJson) {
        EXPECT_EQ(text, before) << "other numbers, and nobody was told";
      }
    }
  }
}

}  // namespace
}  // namespace castscope::report
