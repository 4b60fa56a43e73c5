#include "server/report/compare/difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace castscope::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

AccountSite site(std::int64_t line, std::string text, std::uint64_t casts, std::string to = "bfloat16") {
  AccountSite one;
  one.file = "train.py";
  one.function = "train";
  one.line = line;
  one.text = std::move(text);
  one.op = "aten::linear";
  one.argument = "weight";
  one.phase = "forward";
  one.cause = "autocast";
  one.from = "float32";
  one.to = std::move(to);
  one.casts = casts;
  one.bytes = 100 * casts;
  one.cpu_ns = 1000 * casts;
  return one;
}

Account account(std::vector<AccountSite> sites, std::uint64_t steps = 10) {
  Account one;
  one.name = "run.castscope";
  one.complete = true;
  one.processes = 1;
  one.steps = steps;
  for (const AccountSite& at : sites) one.casts += at.casts, one.bytes += at.bytes, one.cpu_ns += at.cpu_ns;
  one.sites = std::move(sites);
  return one;
}

void add_finding(Account& account, const std::string& rule, const std::string& fingerprint) {
  store::Finding finding;
  finding.rule = rule;
  finding.severity = "warning";
  finding.title = rule + " happens";
  account.findings.push_back(finding);
  account.fingerprints.push_back(fingerprint);
}

std::vector<std::string> changes(const Difference& difference) {
  std::vector<std::string> all;
  for (const SiteChange& change : difference.sites) {
    const AccountSite& at = change.change == Change::kGone ? change.before : change.after;
    all.push_back(std::string(name(change.change)) + " " + at.text + (change.by_time_alone ? " (time)" : ""));
  }
  return all;
}

TEST(DifferenceTest, AnEditAboveChangesNothing) {
  const Account before = account({site(8, "y = f(x)", 10), site(9, "z = g(y)", 20)});
  const Account after = account({site(30, "z = g(y)", 20), site(28, "y = f(x)", 10)});
  const Difference difference = difference_of(before, after);
  EXPECT_THAT(changes(difference), ElementsAre());
  EXPECT_FALSE(difference.any());
  EXPECT_THAT(difference_text(before, after, difference, 80), HasSubstr("the same casts at the same places"));
}

TEST(DifferenceTest, NewGoneMovedCostlierCheaper) {
  const Account before = account({site(1, "gone", 1), site(2, "moved", 5), site(3, "more", 5), site(4, "less", 5)});
  const Account after =
      account({site(2, "moved", 5, "float16"), site(3, "more", 6), site(4, "less", 4), site(5, "fresh", 1)});
  const Difference difference = difference_of(before, after);
  EXPECT_THAT(changes(difference),
              ElementsAre("new fresh", "gone gone", "moved moved", "costlier more", "cheaper less"));
  EXPECT_TRUE(difference.any());
  const std::string text = difference_text(before, after, difference, 120);
  EXPECT_THAT(text, HasSubstr("casts new: 1\n    train.py:5\n"));
  EXPECT_THAT(text, HasSubstr("was float32 to bfloat16 (5 casts, 500 bytes, 5 µs), is float32 to float16"));
  EXPECT_THAT(text, HasSubstr("was 5 casts, 500 bytes, 5 µs, is 6 casts, 600 bytes, 6 µs"));
}

// Modules in a loop, ranks, and stacks that differ further out make one place.
TEST(DifferenceTest, SitesOfOnePlaceCountTogether) {
  const Account before = account({site(8, "y = f(x)", 10), site(8, "y = f(x)", 10)});
  EXPECT_FALSE(difference_of(before, account({site(8, "y = f(x)", 20)})).any());
  EXPECT_THAT(changes(difference_of(before, account({site(8, "y = f(x)", 10)}))), ElementsAre("cheaper y = f(x)"));
}

TEST(DifferenceTest, EqualLinesOfAFunctionAreToldApartByTheirOrder) {
  const Account before = account({site(8, "x = f(x)", 1), site(9, "x = f(x)", 5)});
  const Account after = account({site(18, "x = f(x)", 1), site(19, "x = f(x)", 7)});
  const Difference difference = difference_of(before, after);
  ASSERT_EQ(difference.sites.size(), 1u);
  EXPECT_EQ(difference.sites[0].before.line, 9);
  EXPECT_EQ(difference.sites[0].after.line, 19);
}

TEST(DifferenceTest, RunsOfDifferentLengthAreComparedByStep) {
  const Account before = account({site(8, "y = f(x)", 100)}, 10);
  EXPECT_FALSE(difference_of(before, account({site(8, "y = f(x)", 1010)}, 100)).any());
  EXPECT_THAT(changes(difference_of(before, account({site(8, "y = f(x)", 1200)}, 100))),
              ElementsAre("costlier y = f(x)"));
}

TEST(DifferenceTest, TimeAloneIsNoDifference) {
  const Account before = account({site(8, "y = f(x)", 10)});
  Account after = before;
  after.sites[0].cpu_ns *= 2;
  const Difference difference = difference_of(before, after);
  EXPECT_THAT(changes(difference), ElementsAre("costlier y = f(x) (time)"));
  EXPECT_FALSE(difference.any());
  after.sites[0].cpu_ns = before.sites[0].cpu_ns * 5 / 4;  // noise
  EXPECT_THAT(changes(difference_of(before, after)), ElementsAre());
}

// A function or a file gets another name, or a line is split.
TEST(DifferenceTest, TheSameCastsUnderAnotherNameAreNoDifference) {
  const Account before = account({site(8, "y = f(x)", 10)});
  for (const auto& rename : std::vector<void (*)(AccountSite&)>{[](AccountSite& at) { at.file = "trainer.py"; },
                                                                [](AccountSite& at) { at.function = "fit"; },
                                                                [](AccountSite& at) { at.text = "y = f(x).relu()"; }}) {
    Account after = before;
    rename(after.sites[0]);
    const Difference difference = difference_of(before, after);
    ASSERT_EQ(difference.sites.size(), 1u);
    EXPECT_EQ(name(difference.sites[0].change), "elsewhere");
    EXPECT_FALSE(difference.any());
    EXPECT_THAT(difference_text(before, after, difference, 80), HasSubstr("which is no difference: 1\n"));
    after.sites[0].casts = 20;
    EXPECT_THAT(name(difference_of(before, after).sites.at(0).change), "costlier");
    after.sites[0].argument = "bias";
    EXPECT_EQ(difference_of(before, after).sites.size(), 2u) << "another argument is another cast";
  }
  Account unlike = before;
  unlike.sites[0].file = "trainer.py";
  unlike.sites[0].function = "fit";
  EXPECT_EQ(difference_of(before, unlike).sites.size(), 2u) << "the text alone tells nothing";
}

TEST(DifferenceTest, AFindingUnderAnotherNameIsTheSame) {
  Account before = account({}), after = account({});
  for (Account* const one : {&before, &after}) {
    add_finding(*one, "cast-undoes-float", one == &before ? "f:1" : "g:1");
    one->findings[0].location = {"train.py", "fit", 8};
    one->lines = {"y = f(x)"};
  }
  after.findings[0].location->function = "train";
  after.findings[0].title = "cast-undoes-float happens";
  const Difference difference = difference_of(before, after);
  EXPECT_THAT(difference.moved_findings, ElementsAre(std::pair<std::size_t, std::size_t>(0, 0)));
  EXPECT_FALSE(difference.any());
  EXPECT_THAT(difference_text(before, after, difference, 80),
              HasSubstr("cast-undoes-float  train.py:8, was at train.py:8"));
  EXPECT_EQ(difference_json(before, after, difference)["finding_changes"]["moved_findings"].size(), 1u);
  after.lines = {"z = g(y)"};
  EXPECT_TRUE(difference_of(before, after).any()) << "the file alone tells nothing";
  after.findings[0].location->function = "fit";
  EXPECT_TRUE(difference_of(before, after).any()) << "another line of the function";
  after.lines = {"f(rows)"};
  EXPECT_FALSE(difference_of(before, after).any()) << "half of the words are the same";
}

TEST(DifferenceTest, AFaultThatWasMendedAndMadeElsewhereIsNew) {
  Account before = account({site(8, "y = f(x)", 1)}), after = before;
  for (Account* const one : {&before, &after}) {
    add_finding(*one, "cast-undoes-float", one == &before ? "f:1" : "g:1");
    one->findings[0].location = {one == &before ? "train.py" : "other.py", "train", 8};
    one->lines = {"y = f(x)"};
  }
  EXPECT_EQ(difference_of(before, after).new_findings.size(), 1u) << "the old function still runs";
  after.sites.clear();
  EXPECT_EQ(difference_of(before, after).moved_findings.size(), 1u);
}

TEST(DifferenceTest, ARunThatLookedAtNoOperatorCannotBeCompared) {
  Account before = account({}), after = account({});
  before.precision = {{.file = "net.py", .op = "aten::linear", .computed = "float32", .calls = 1}};
  EXPECT_THAT(difference_of(before, after).doubts, ElementsAre(HasSubstr("no operator was looked at")));
  EXPECT_THAT(difference_of(after, before).doubts, ElementsAre(HasSubstr("no operator was looked at")));
}

TEST(DifferenceTest, WhatAGateAsksOf) {
  const auto faults = [](const Account& before, const Account& after) {
    std::string all;
    for (const Fault fault : {Fault::kNewFindings, Fault::kNewCasts, Fault::kDtypes, Fault::kAny})
      if (has(difference_of(before, after), fault)) all += std::string(name(fault)) + " ";
    return all;
  };
  const Account before = account({site(8, "y = f(x)", 10)});
  EXPECT_EQ(faults(before, before), "");
  EXPECT_EQ(faults(before, account({site(8, "y = f(x)", 9)})), "any ") << "fewer casts are no fault";
  EXPECT_EQ(faults(before, account({site(8, "y = f(x)", 11)})), "new-casts any ");
  EXPECT_EQ(faults(before, account({site(8, "y = f(x)", 10), site(9, "z = g(y)", 1)})), "new-casts any ");
  EXPECT_EQ(faults(before, account({site(8, "y = f(x)", 10, "float16")})), "dtypes any ");
  Account hits = account({site(8, "y = f(x)", 10), site(9, "z = g(y)", 0)});
  EXPECT_EQ(faults(before, hits), "any ") << "a place of cache hits alone casts nothing";
  Account larger = before, found = before;
  larger.sites[0].bytes *= 2;
  EXPECT_EQ(faults(before, larger), "any ") << "as many casts, of more bytes";
  add_finding(found, "cache-grows", "f:1");
  EXPECT_EQ(faults(before, found), "new-findings any ");
}

TEST(DifferenceTest, MetricsThatBothHaveStandBesideTheTotals) {
  Account before = account({}), after = account({});
  before.metrics = {{"loss", 3.5, 1.952}, {"gradient scale", 65536, 65536}};
  after.metrics = {{"accuracy", 0.1, 0.5}, {"loss", 3.5, std::nullopt}};
  const Difference difference = difference_of(before, after);
  EXPECT_FALSE(difference.any());
  EXPECT_THAT(difference_text(before, after, difference, 80), HasSubstr("loss, last"));
  EXPECT_THAT(difference_text(before, after, difference, 80), HasSubstr("no number"));
  const nlohmann::ordered_json json = difference_json(before, after, difference)["metric_changes"];
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["first_value"]["after"], 3.5);
  EXPECT_EQ(json[0]["last_value"]["before"], 1.952);
  EXPECT_TRUE(json[0]["last_value"]["after"].is_null());
}

AccountPrecision computed(std::string dtype, std::string file = "train.py", bool grad_mode = true) {
  AccountPrecision one;
  one.file = std::move(file);
  one.line = 8;
  one.model = "Net";
  one.module = "fc";
  one.op = "aten::linear";
  one.computed = std::move(dtype);
  one.grad_mode = grad_mode;
  one.calls = 3;
  return one;
}

// A trainer and an inference engine.
TEST(DifferenceTest, TheSameModelInAnotherDtype) {
  Account before = account({}), after = account({});
  before.precision = {computed("bfloat16"), computed("float32", "train.py", false)};  // its validation has no region
  after.precision = {computed("float32", "serve.py", false)};
  const Difference difference = difference_of(before, after);
  ASSERT_EQ(difference.precision.size(), 1u);
  EXPECT_TRUE(difference.any());
  EXPECT_THAT(
      difference_text(before, after, difference, 100),
      HasSubstr("operators in another dtype: 1\n    serve.py:8\n      Net.fc, linear: was bfloat16 (train.py:8), is "
                "float32\n"));
  EXPECT_EQ(difference_json(before, after, difference)["precision_changes"][0]["after"]["computed_in"], "float32");
}

TEST(DifferenceTest, TheSameModelInTheSameDtype) {
  Account before = account({}), after = account({});
  before.precision = {computed("bfloat16")};
  after.precision = {computed("bfloat16", "serve.py", false)};
  EXPECT_FALSE(difference_of(before, after).any());
  after.precision[0].computed = "float32";
  after.precision[0].module = "head";  // which the other run did not call
  EXPECT_FALSE(difference_of(before, after).any());
}

TEST(DifferenceTest, FindingsNewAndFixed) {
  Account before = account({}), after = account({});
  add_finding(before, "old-rule", "1:1");
  add_finding(before, "kept-rule", "2:1");
  add_finding(after, "kept-rule", "2:1");
  add_finding(after, "new-rule", "3:1");
  const Difference difference = difference_of(before, after);
  EXPECT_TRUE(difference.any());
  const std::string text = difference_text(before, after, difference, 80);
  EXPECT_THAT(text, HasSubstr("findings new: 1\n    warning new-rule  no Python line\n      new-rule happens\n"));
  EXPECT_THAT(text, HasSubstr("findings fixed: 1\n    warning old-rule"));
  EXPECT_THAT(text, Not(HasSubstr("kept-rule")));
  const nlohmann::ordered_json json = difference_json(before, after, difference);
  EXPECT_EQ(json["finding_changes"]["new_findings"][0]["rule"], "new-rule");
  EXPECT_EQ(json["finding_changes"]["fixed_findings"][0]["fingerprint"], "1:1");
  EXPECT_EQ(json["differs"], true);
}

// A site that is costlier from A to B is cheaper from B to A, and nothing else changes.
TEST(DifferenceTest, WhatOneRunDidNotLookAtIsNeitherNewNorFixed) {
  Account shallow = account({}), deep = account({});
  add_finding(deep, "cast-undoes-float", "f:1");
  add_finding(deep, "cache-grows", "g:1");
  shallow.unjudged = {{"cast-undoes-float", "not", "no step was looked at operator by operator: --deep never"}};
  const Difference less = difference_of(deep, shallow), more = difference_of(shallow, deep);
  EXPECT_THAT(less.unseen_after, ElementsAre(0));
  EXPECT_THAT(less.fixed_findings, ElementsAre(1));
  EXPECT_THAT(more.unseen_before, ElementsAre(0));
  EXPECT_THAT(more.new_findings, ElementsAre(1));
  EXPECT_THAT(less.doubts,
              ElementsAre("run.castscope: it may have missed 1 finding of run.castscope: it did not look at such "
                          "code, or not in every step, or was not recorded in full, or its job failed"));
  EXPECT_THAT(difference_text(deep, shallow, less, 80), HasSubstr("findings not looked at after: 1\n"));
  EXPECT_EQ(difference_json(deep, shallow, less)["finding_changes"]["unseen_after"].size(), 1u);
}

TEST(DifferenceTest, AnotherDepthIsADoubt) {
  Account before = account({}), after = account({});
  before.skipped_steps = after.skipped_steps = true;
  before.deep = "7";
  after.deep = "50";
  EXPECT_THAT(difference_of(before, after).doubts,
              ElementsAre("run.castscope: some steps were looked at with --deep 7, and in run.castscope some others "
                          "with --deep 50"));
}

TEST(DifferenceTest, TheOtherWayRoundEverythingIsMirrored) {
  const auto mirrored = [](const Account& a, const Account& b) {
    std::vector<std::string> there = changes(difference_of(a, b)), back = changes(difference_of(b, a));
    for (std::string& change : back) {
      if (change.starts_with("cheaper"))
        change = "costlier" + change.substr(7);
      else if (change.starts_with("costlier"))
        change = "cheaper" + change.substr(8);
    }
    EXPECT_EQ(there, back);
    return there;
  };
  EXPECT_THAT(mirrored(account({site(8, "y = f(x)", 1000)}, 100), account({site(8, "y = f(x)", 109)}, 10)),
              ElementsAre());
  EXPECT_THAT(mirrored(account({site(8, "y = f(x)", 1000)}, 100), account({site(8, "y = f(x)", 181)}, 20)),
              ElementsAre("cheaper y = f(x)"));  // 10 and 9.05 a step
  // One site makes a hundredth of all casts in one run, and more than that in the other.
  Account slow = account({site(8, "y = f(x)", 1), site(9, "z = g(y)", 1)}), fast = slow;
  slow.cpu_ns = 1'000'000, slow.sites[0].cpu_ns = 1000;
  fast.cpu_ns = 10'000, fast.sites[0].cpu_ns = 500;
  EXPECT_THAT(mirrored(slow, fast), ElementsAre());
}

TEST(DifferenceTest, RunsThatCannotBeComparedAreTold) {
  const Account whole = account({site(8, "y = f(x)", 10)});
  Account failed = whole, killed = whole, empty = account({});
  failed.failure = "exit status 1";
  killed.failure = "signal 9";
  killed.complete = false;
  empty.processes = 0;
  EXPECT_THAT(difference_of(whole, whole).doubts, ElementsAre());
  EXPECT_THAT(difference_of(whole, failed).doubts, ElementsAre(HasSubstr("the job failed (exit status 1)")));
  EXPECT_EQ(difference_of(killed, whole).doubts.size(), 2u);
  const Difference nothing = difference_of(empty, empty);
  EXPECT_THAT(nothing.doubts, ElementsAre(HasSubstr("no process was seen"), HasSubstr("no process was seen")));
  const std::string text = difference_text(empty, empty, nothing, 120);
  EXPECT_THAT(
      text,
      HasSubstr("incomplete: run.castscope: nothing was observed: no process was seen that used PyTorch's autocast"));
  EXPECT_THAT(text, Not(HasSubstr("the same casts at the same places")));
  EXPECT_EQ(difference_json(empty, empty, nothing)["doubts"].size(), 2u);
}

TEST(DifferenceTest, TotalsAndIncompleteRunsAreTold) {
  Account before = account({site(8, "y = f(x)", 10)}), after = account({site(8, "y = f(x)", 15)});
  after.complete = false;
  after.name = "cut.castscope";
  const Difference difference = difference_of(before, after);
  const std::string text = difference_text(before, after, difference, 80);
  EXPECT_THAT(text, HasSubstr("cut.castscope: not all of the run was seen"));
  EXPECT_THAT(text, HasSubstr("  10       15  +50.0 %\n"));
  EXPECT_EQ(difference_json(before, after, difference)["total_changes"]["casts"]["after"], 15);
}

}  // namespace
}  // namespace castscope::report
