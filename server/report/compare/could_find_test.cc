// could_find() answers whether a run would have found what another one found, had it been there.
#include "server/report/compare/account_test.h"

namespace castscope::report {
namespace {

// Two lines of one function: the first one casts and was looked at, or not.
TEST(CouldFindTest, WhetherALineWasLookedAtIsNotAnsweredByAnotherOfItsFunction) {
  const auto judged = [](bool first, bool second) {
    Json json = report();
    json["coverage"]["rules"][0] = {
        {"rule", "cast-undoes-float"}, {"judged", "partly"}, {"because", "1 of 2 places were not"}};
    json["findings"][0]["rule"] = "cast-undoes-float";
    Json site = json["sites"][0];
    json["frames"].push_back({{"file", "train.py"}, {"line", 12}, {"function", "train"}});
    json["stacks"].push_back({{"frame_index", 1}});
    json["sites"] = {site, site};
    json["sites"][0]["looked_at"] = first;
    json["sites"][1]["looked_at"] = second;
    json["sites"][1]["stack_index"] = 1;
    return read(json);
  };
  const Account whole = judged(true, true);
  store::Finding found = whole.findings[0];  // at line 8
  EXPECT_TRUE(could_find(judged(true, false), whole, found));
  EXPECT_FALSE(could_find(judged(false, true), whole, found));
  found.location->line = 10;  // casts nothing: all that is known is its function
  EXPECT_TRUE(could_find(whole, whole, found));
  EXPECT_FALSE(could_find(judged(false, true), whole, found));
}

TEST(CouldFindTest, ARunOfWhichOnlySomeStepsWereLookedAtMayHaveMoreThanItsRuleFound) {
  const auto judged = [](const char* word, bool in_every_step) {
    Json json = report();
    Json& coverage = json["coverage"];
    coverage["rules"][0] = {{"rule", "dtype-overflow"}, {"judged", word}, {"because", "3 of 9 steps were"}};
    if (!in_every_step) coverage["first_step_not_looked_at"] = {{"process", 1}, {"step", 3}};
    json["findings"][0]["rule"] = "dtype-overflow";
    return read(json);
  };
  const Account full = judged("full", true), sampled = judged("sampled", false);
  ASSERT_EQ(sampled.sampled.size(), 1u);
  EXPECT_TRUE(sampled.unjudged.empty());
  const store::Finding overflow = full.findings[0], of_casts = full.findings[1];
  EXPECT_TRUE(could_find(full, sampled, overflow));
  EXPECT_TRUE(could_find(sampled, sampled, overflow));
  EXPECT_FALSE(could_find(sampled, full, overflow));
  EXPECT_TRUE(could_find(sampled, full, of_casts)) << "casts are seen in every step";
  Account before_the_line = sampled;
  for (AccountSite& site : before_the_line.sites) site.text = "y = g(x)";
  EXPECT_TRUE(could_find(before_the_line, full, overflow)) << "casts are seen in every step";
  // A rule may be `partly` because of other places. That does not tell whether the run looked at every step.
  const Account partly_sampled = judged("partly", false), partly = judged("partly", true);
  EXPECT_FALSE(could_find(partly_sampled, partly, overflow));
  EXPECT_FALSE(could_find(sampled, partly, overflow));
  EXPECT_TRUE(could_find(partly_sampled, sampled, overflow));
  // The first reports do not tell which steps were looked at.
  Account untold = full;
  untold.skipped_steps.reset();
  EXPECT_TRUE(could_find(sampled, untold, overflow));
  EXPECT_TRUE(could_find(untold, full, overflow));
}

TEST(CouldFindTest, ALineThatNeverCastIsNewHoweverTheRunWasLookedAt) {
  Json blind = report();
  blind["coverage"]["rules"][0] = {{"rule", "cache-grows"}, {"judged", "not"}, {"because", "nothing was looked at"}};
  const Account now = read(report());
  const store::Finding found = now.findings[0];
  EXPECT_FALSE(could_find(read(blind), now, found)) << "the line cast in it, and nobody looked";
  blind["source_files"][0]["source_lines"][0]["source_text"] = "y = g(x)";
  EXPECT_TRUE(could_find(read(blind), now, found));
}

TEST(CouldFindTest, ARunThatIsCutShortMayHaveMissedWhateverItLacks) {
  const Account now = read(report());
  const store::Finding found = now.findings[0];
  for (const char* reason : {"process_rejected", "process_vanished", "run_not_ended", "moon_was_full"}) {
    Json json = report();
    json["run"]["missing"] = {{{"incomplete_reason", reason}, {"process", nullptr}, {"sentence", "it is"}}};
    EXPECT_FALSE(could_find(read(json), now, found)) << reason;
  }
  Json json = report();
  json["run"]["exit_status"] = 1;
  EXPECT_FALSE(could_find(read(json), now, found)) << "the job failed, perhaps before it came to it";
  json["run"]["exit_status"] = 0;
  json["run"]["missing"] = {{{"incomplete_reason", "events_missing"}, {"process", nullptr}, {"sentence", "it is"}}};
  EXPECT_TRUE(could_find(read(json), now, found)) << "casts are counted without events";
  json["run"].erase("missing");
  json["run"]["complete"] = false;
  EXPECT_FALSE(could_find(read(json), now, found)) << "the first reports do not say why";
}

TEST(CouldFindTest, OfARunWithCastsOfNoSiteNobodyKnowsWhetherALineCast) {
  Json json = report();
  const Account now = read(json);
  json["source_files"][0]["source_lines"][0]["source_text"] = "y = g(x)";
  json["totals"]["beyond_sites"] = {{"casts", 1}, {"cache_hits", 0}};
  EXPECT_FALSE(could_find(read(json), now, now.findings[0])) << "it may be this line's";
  json["totals"]["beyond_sites"]["casts"] = 0;
  EXPECT_TRUE(could_find(read(json), now, now.findings[0]));
}

TEST(CouldFindTest, ARuleOfEventsThatJudgedAPartMayHaveMissedIt) {
  Json json = report();
  const Account whole = read(json);
  json["coverage"]["rules"] = {{{"rule", "cache-grows"}, {"judged", "partly"}, {"because", "2 events were dropped"}},
                               {{"rule", "dtype-overflow"}, {"judged", "partly"}, {"because", "2 events were dropped"}},
                               {{"rule", "cast-undoes-float"}, {"judged", "partly"}, {"because", "1 of 2 places"}}};
  store::Finding found = whole.findings[0];
  for (const auto& [rule, could] :
       {std::pair("cache-grows", false), std::pair("dtype-overflow", false), std::pair("cast-undoes-float", true)}) {
    found.rule = rule;
    EXPECT_EQ(could_find(read(json), whole, found), could) << rule;
  }
}

TEST(CouldFindTest, WhatTheSettingsOfARunIgnoredItCouldNotFind) {
  Json ignoring = report();
  ignoring["settings"]["ignored_rules"] = {"cache-grows"};
  ignoring["findings"].erase(0);
  const Account now = read(report());
  EXPECT_FALSE(could_find(read(ignoring), now, now.findings[0]));
  EXPECT_TRUE(could_find(read(ignoring), now, now.findings[1]));
  ASSERT_EQ(read(ignoring).unjudged.size(), 1u);
  EXPECT_EQ(read(ignoring).unjudged[0], (AccountRule{"cache-grows", "not", "castscope.json ignored it"}));
  rules::Settings settings;
  settings.ignore = {"cache-grows"};
  EXPECT_TRUE(read(ignoring, settings).unjudged.empty()) << "nobody asks";
}

}  // namespace
}  // namespace castscope::report
