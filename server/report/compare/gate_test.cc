#include "server/report/compare/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/report/compare/account.h"

namespace castscope::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Account account_with(const std::vector<std::pair<std::string, std::string>>& findings = {}) {  // severity, fingerprint
  Account one;
  one.name = "run.castscope";
  one.run_folder = one.project = "/job";
  one.complete = true;
  one.processes = 1;
  one.cpu_ns = 7;
  one.steps_ns = 100;
  one.cache_peak_bytes = 2000;
  for (const auto& [severity, fingerprint] : findings) {
    store::Finding finding;
    finding.rule = "rule-of-" + severity;
    finding.severity = severity;
    finding.title = "it happens";
    finding.fix = "Mend it.";
    finding.location = store::CodeLocation{"/job/train.py", "train", 8};
    one.findings.push_back(finding);
    one.fingerprints.push_back(fingerprint);
  }
  return one;
}

std::string text_of(const Account& account, const Gate& gate, const Account* baseline = nullptr) {
  return verdict_text(account, gate, examine(account, gate, baseline), baseline, {.settings_file = "", .width = 120});
}

TEST(GateTest, SeveritiesBelowTheOneAskedForPass) {
  const Account all = account_with({{"error", "a"}, {"warning", "b"}, {"performance", "c"}, {"info", "d"}});
  const std::pair<const char*, std::size_t> expected[] = {
      {"error", 1}, {"warning", 2}, {"performance", 3}, {"info", 4}};
  for (const auto& [fail_on, failing] : expected) {
    Gate gate;
    gate.fail_on = fail_on;
    EXPECT_EQ(examine(all, gate).failing.size(), failing) << fail_on;
    EXPECT_EQ(examine(all, gate).outcome, Outcome::kFindings);
  }
  EXPECT_EQ(examine(account_with({{"performance", "c"}}), {}).outcome, Outcome::kClean);
}

TEST(GateTest, ARunThatLostItsCastsIsNotClean) {
  Account now = account_with(), before = account_with();
  before.casts = 80;
  EXPECT_EQ(examine(now, {}, &before).outcome, Outcome::kIncomplete);
  EXPECT_THAT(text_of(now, {}, &before), HasSubstr("autocast cast nothing in this run, and 80 times in that of the"));
  EXPECT_EQ(examine(now, {.allow_incomplete = true}, &before).outcome, Outcome::kClean);
  now.casts = 1;
  EXPECT_EQ(examine(now, {}, &before).outcome, Outcome::kClean);
}

TEST(GateTest, OnlyWhatTheBaselineLacksFails) {
  const Account now = account_with({{"error", "a"}, {"error", "b"}}),
                before = account_with({{"error", "b"}, {"info", "c"}});
  const Verdict verdict = examine(now, {}, &before);
  EXPECT_THAT(verdict.failing, ElementsAre(0));
  EXPECT_THAT(verdict.known, ElementsAre(1));
  EXPECT_THAT(verdict.gone, ElementsAre(1));
  EXPECT_EQ(examine(before, {}, &before).outcome, Outcome::kClean);
  EXPECT_THAT(text_of(now, {}, &before), HasSubstr("1 finding known from run.castscope"));
}

TEST(GateTest, Limits) {
  Gate gate;
  gate.max_cast_share = 0.07;
  gate.max_cache_bytes = 2000;
  EXPECT_EQ(examine(account_with(), gate).outcome, Outcome::kClean);
  gate.max_cast_share = 0.069;
  EXPECT_EQ(examine(account_with(), gate).outcome, Outcome::kFindings);
  EXPECT_THAT(text_of(account_with(), gate),
              HasSubstr("exceeded: share of the steps' time that autocast's casts take: 7 %, more than 6.9 % "
                        "(--max-cast-share)"));
  gate.max_cast_share.reset();
  gate.max_cache_bytes = 1999;
  EXPECT_EQ(examine(account_with(), gate).outcome, Outcome::kFindings);
}

TEST(GateTest, AShareThatCannotBeToldIsNoPass) {
  Gate gate;
  gate.max_cast_share = 0.07;
  Account timeless = account_with();
  timeless.steps_ns = 0;
  EXPECT_EQ(examine(timeless, gate).outcome, Outcome::kIncomplete);
  timeless.cpu_ns = 0;  // nothing was cast
  EXPECT_EQ(examine(timeless, gate).outcome, Outcome::kClean);
}

TEST(GateTest, IncompleteDataPassOnlyWhenAllowedAndFindingsStand) {
  Account cut = account_with();
  cut.complete = false;
  cut.notices = {"process 7 was killed by SIGKILL"};
  EXPECT_EQ(examine(cut, {}).outcome, Outcome::kIncomplete);
  EXPECT_THAT(text_of(cut, {}), HasSubstr("process 7 was killed"));
  Gate gate;
  gate.allow_incomplete = true;
  EXPECT_EQ(examine(cut, gate).outcome, Outcome::kClean);
  EXPECT_THAT(text_of(cut, gate), HasSubstr("clean, as far as the incomplete data show"));
  Account found = account_with({{"error", "a"}});
  found.complete = false;
  EXPECT_EQ(examine(found, {}).outcome, Outcome::kFindings);
}

TEST(GateTest, TheTextIsShortAndNothingVanishes) {
  Account now = account_with({{"error", "a"}, {"info", "b"}});
  now.ignored_by_settings = 3;
  now.ignored_in_code = 1;
  EXPECT_EQ(text_of(now, {}), R"(castscope check: run.castscope fails: 1 finding of severity warning or higher

  error rule-of-error  train.py:8
    it happens.
    fix: Mend it.

  not counted: 1 finding below warning
  not counted: 3 findings ignored by castscope.json
  not counted: 1 finding ignored by comments in the code
)");
  EXPECT_EQ(text_of(account_with(), {}), "castscope check: run.castscope clean\n");
}

TEST(GateTest, JsonHasAll) {
  const Account now = account_with({{"error", "a"}, {"info", "b"}});
  Gate gate;
  gate.max_cache_bytes = 1;
  const nlohmann::ordered_json json = verdict_json(now, gate, examine(now, gate), nullptr);
  EXPECT_EQ(json["document"], "check");
  EXPECT_EQ(json["format"], 2);
  EXPECT_EQ(json["outcome"], "findings");
  EXPECT_EQ(json["check_exit_status"], 1);
  EXPECT_EQ(json["failing_findings"][0]["file"], "train.py");
  EXPECT_EQ(json["below_fail_on"][0]["fingerprint"], "b");
  EXPECT_EQ(json["limits"][0]["exceeded"], true);
  EXPECT_EQ(json["baseline"], nullptr);
}

// A run whose rule of this severity could judge only so far.
Account judged(std::string judged, Account one) {
  one.unjudged = {{"rule-of-warning", std::move(judged), "no step was looked at operator by operator: --deep never"}};
  return one;
}

TEST(GateTest, RulesThatCouldNotJudgeAreListedInsteadOfClean) {
  const Account run = judged("not", account_with());
  EXPECT_EQ(examine(run, {}).outcome, Outcome::kClean);
  EXPECT_EQ(text_of(run, {}),
            "castscope check: run.castscope clean, as far as rules could judge\n\n"
            "  1 rule not judged, because no step was looked at operator by operator: --deep never: rule-of-warning\n");
  Gate strict;
  strict.require_deep = true;
  EXPECT_EQ(examine(run, strict).outcome, Outcome::kIncomplete);
  EXPECT_THAT(text_of(run, strict), HasSubstr("nothing was found, but rules could not judge all of the run"));
  EXPECT_EQ(examine(account_with(), strict).outcome, Outcome::kClean);
}

TEST(GateTest, RulesThatJudgedASampleAreTold) {
  Account run = account_with();
  add_rule(run, {"rule-of-warning", "sampled", "3 of 9 steps were looked at operator by operator"});
  EXPECT_EQ(text_of(run, {}),
            "castscope check: run.castscope clean\n\n"
            "  1 rule judged a sample of the steps: 3 of 9 steps were looked at operator by operator\n");
  const auto json = verdict_json(run, {}, examine(run, {}), nullptr);
  EXPECT_EQ(json["sampled"][0]["rule"], "rule-of-warning");
  EXPECT_TRUE(json["unjudged"].empty());
}

TEST(GateTest, FindingsAtCodeThatTheBaselineDidNotLookAtAreNotNew) {
  const Account now = account_with({{"warning", "a"}}), before = judged("not", account_with());
  const Verdict verdict = examine(now, {}, &before);
  EXPECT_TRUE(verdict.failing.empty());
  EXPECT_THAT(verdict.unseen_before, ElementsAre(0));
  EXPECT_THAT(text_of(now, {}, &before),
              HasSubstr("1 finding that the run of run.castscope may have missed: it did not look at"));
}

TEST(GateTest, ABaselineInWhichNothingWasSeenLetsNothingPass) {
  const Account now = account_with({{"warning", "a"}});
  Account before = judged("not", account_with());
  before.processes = 0;
  const Verdict verdict = examine(now, {}, &before);
  EXPECT_EQ(verdict.outcome, Outcome::kIncomplete);
  EXPECT_THAT(verdict.incomplete, ElementsAre(HasSubstr("knows of no finding, since no process was seen in its run")));
}

TEST(GateTest, ABaselineOfWhichNotAllWasSeenIsNamedAndItsFindingsStillCompare) {
  Account cut = account_with({{"error", "a"}});
  cut.complete = false;
  const Account now = account_with({{"error", "a"}, {"error", "b"}});
  const Verdict verdict = examine(now, {}, &cut);
  EXPECT_EQ(verdict.outcome, Outcome::kFindings);
  EXPECT_THAT(verdict.failing, ElementsAre(1));
  EXPECT_THAT(text_of(now, {}, &cut), HasSubstr("in the baseline's run, not all of the run was seen"));
  EXPECT_EQ(verdict_json(now, {}, verdict, &cut)["doubts_in_baseline"].size(), 1u);
  EXPECT_TRUE(verdict_json(now, {}, examine(now, {}, &now), &now)["doubts_in_baseline"].empty());
}

TEST(GateTest, WhatABaselineThatLacksCodeMayHaveMissedMakesTheCheckInconclusive) {
  Account cut = account_with(), now = account_with({{"error", "b"}});
  cut.unjudged = {{"rule-of-error", "partly", "relay a did not say goodbye"}};
  cut.is_cut_short = true;
  const Verdict verdict = examine(now, {}, &cut);
  EXPECT_THAT(verdict.unseen_before, ElementsAre(0));
  EXPECT_EQ(verdict.outcome, Outcome::kIncomplete);
  EXPECT_THAT(verdict.incomplete,
              ElementsAre("whether 1 finding is new is not known: the baseline's run may have missed it"));
  Gate gate;
  gate.allow_incomplete = true;
  EXPECT_EQ(examine(now, gate, &cut).outcome, Outcome::kClean);
  EXPECT_EQ(examine(account_with(), {}, &cut).outcome, Outcome::kClean) << "nothing is in doubt";
  EXPECT_EQ(examine(account_with({{"info", "b"}}), {}, &cut).outcome, Outcome::kClean) << "it would not fail";
}

TEST(GateTest, ABaselineOfAnotherDepthIsNamed) {
  Account before = account_with(), now = account_with({{"error", "b"}});
  before.skipped_steps = now.skipped_steps = true;
  before.deep = "7";
  now.deep = "automatic";
  EXPECT_THAT(examine(now, {}, &before).baseline_incomplete,
              ElementsAre("some steps were looked at with --deep 7, and in run.castscope some others without --deep"));
  now.deep = "7";
  EXPECT_TRUE(examine(now, {}, &before).baseline_incomplete.empty());
  now.deep = "";
  EXPECT_TRUE(examine(now, {}, &before).baseline_incomplete.empty()) << "the first reports do not tell";
  now.deep = "always";
  now.skipped_steps = false;
  EXPECT_TRUE(examine(now, {}, &before).baseline_incomplete.empty()) << "could_find() has its own answer to that";
}

TEST(GateTest, ABaselineThatWasNotLookedAtLetsNothingPassWhereLookingIsRequired) {
  const Account now = account_with({{"warning", "a"}}), before = judged("not", account_with());
  EXPECT_EQ(examine(now, {}, &before).outcome, Outcome::kClean);
  const Gate strict{.require_deep = true};
  EXPECT_EQ(examine(now, strict, &before).outcome, Outcome::kIncomplete);
  EXPECT_THAT(text_of(now, strict, &before), AllOf(HasSubstr("the run of the baseline was not looked at as this"),
                                                   HasSubstr("in the baseline's run, 1 rule not judged, because")));
  EXPECT_EQ(examine(account_with(), strict, &before).outcome, Outcome::kIncomplete) << "nor where nothing is new";
}

TEST(GateTest, FindingsOfTheBaselineAtCodeThatThisRunDidNotLookAtAreNotGone) {
  const Account now = judged("not", account_with()), before = account_with({{"warning", "a"}});
  const Verdict verdict = examine(now, {}, &before);
  EXPECT_TRUE(verdict.gone.empty());
  EXPECT_THAT(verdict.unseen_now, ElementsAre(0));
  EXPECT_THAT(text_of(now, {}, &before), HasSubstr("may have been missed now: this run did not look at such code"));
}

TEST(GateTest, WhereARuleJudgedInPartThePlaceDecides) {
  const Account now = account_with({{"warning", "a"}});
  Account before = judged("partly", account_with());
  before.sites.push_back({.file = "train.py", .function = "train", .looked_at = false});
  EXPECT_THAT(examine(now, {}, &before).unseen_before, ElementsAre(0));
  before.sites.back().looked_at = true;
  EXPECT_THAT(examine(now, {}, &before).failing, ElementsAre(0));
  before.sites.clear();
  EXPECT_THAT(examine(now, {}, &before).failing, ElementsAre(0)) << "there was no such code";
  before.left_out_new_code = true;
  EXPECT_THAT(examine(now, {}, &before).unseen_before, ElementsAre(0)) << "or it was left out";
}

}  // namespace
}  // namespace castscope::report
