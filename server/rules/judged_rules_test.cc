#include "server/rules/judged_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "server/rules/rules.h"

namespace castscope::rules {
namespace {

// A run with one place of casts in a region, where an operator was looked at or not.
store::RunData run_with_a_cast(bool looked_at) {
  store::RunData run;
  run.end = {.end_ns = 9, .complete = true};
  store::Process process;
  process.id = store::ProcessId(1);
  process.info.key = "host/1/1/0";
  process.info.pid = 1;
  process.end = store::ProcessEnd::kExited;
  process.ended = true;
  process.gauges.deep_operators = 10;
  process.lanes.push_back({.lane = 1, .tid = 1, .written = 4, .received = 4});
  run.processes.push_back(process);
  run.stacks.push_back({{{"train.py", "step", 7}}, false});
  run.regions.push_back({.id = store::RegionId(1)});
  run.sites.push_back({.id = store::SiteId(1), .stack = store::StackId(1), .region = store::RegionId(1), .op = {}});
  run.site_uses.push_back(
      {.process = store::ProcessId(1), .site = store::SiteId(1), .counts = {.casts = 4}, .evidence = {}});
  run.step_runs.push_back({.process = store::ProcessId(1), .casts = 4});
  if (looked_at) {
    store::OperatorUse& use = run.operator_uses.emplace_back();
    use.id = store::OperatorUseId(1);
    use.stack = store::StackId(1);
    run.use_counts.push_back({.process = store::ProcessId(1), .use = store::OperatorUseId(1), .times = 2});
  }
  return run;
}

JudgedRule judged(const store::RunData& run, std::string_view rule, const Settings& settings = {}) {
  const auto all = judged_rules(run, looked_at(run), settings);
  return *std::ranges::find_if(all, [&](const JudgedRule& of) { return of.rule->name == rule; });
}

TEST(JudgedRules, FullWhereEachPlaceWasLookedAt) {
  for (const JudgedRule& of : judged_rules(run_with_a_cast(true), looked_at(run_with_a_cast(true)), {})) {
    EXPECT_EQ(name(of.judged), "full") << of.rule->name << ": " << of.because;
    EXPECT_EQ(of.because, "");
  }
}

TEST(JudgedRules, PartlyWhereAPlaceWasNotLookedAt) {
  const JudgedRule of = judged(run_with_a_cast(false), "cast-undoes-float");
  EXPECT_EQ(of.judged, Judged::kPartly);
  EXPECT_EQ(of.because, "1 of 1 places of casts were in no step that was looked at operator by operator");
  EXPECT_EQ(judged(run_with_a_cast(false), "cache-grows").judged, Judged::kFull) << "it looks at no operator";
}

TEST(JudgedRules, ARunThatLooksAlwaysIsNotToldToLookAlways) {
  store::RunData run;
  run.processes.resize(1);
  EXPECT_THAT(judged(run, "cast-undoes-float").because, testing::HasSubstr("only --deep always looks at such a job"));
  run.start.deep = "always";
  EXPECT_EQ(judged(run, "cast-undoes-float").because, "no operator was looked at");
}

TEST(JudgedRules, PartlyWhereTheBudgetCutLookingOff) {
  store::RunData run = run_with_a_cast(true);
  run.processes.front().gauges.new_code_left_out = 3;
  const JudgedRule of = judged(run, "cast-undoes-float");
  EXPECT_EQ(of.judged, Judged::kPartly);
  EXPECT_EQ(of.because, "code that was new was left out 3 times, since looking had taken what it may");
}

TEST(JudgedRules, NotWhereNothingWasLookedAt) {
  store::RunData run = run_with_a_cast(false);
  run.processes.front().gauges.deep_operators = 0;
  run.start.deep = "never";
  const JudgedRule of = judged(run, "cast-undoes-float");
  EXPECT_EQ(of.judged, Judged::kNot);
  EXPECT_EQ(of.because, "no step was looked at operator by operator: --deep never");
  EXPECT_EQ(judged(run, "scaler-updated-midway").judged, Judged::kNot);
  EXPECT_EQ(judged(run, "scaler-bypassed").judged, Judged::kPartly) << "steps past the scaler are always seen";
  EXPECT_EQ(judged({}, "cache-grows").because, "no process was seen that used PyTorch's autocast");
}

TEST(JudgedRules, PartlyWhereEventsWereDropped) {
  store::RunData run = run_with_a_cast(true);
  run.processes.front().lanes.front().dropped = 2;
  EXPECT_EQ(judged(run, "cache-grows").because, "2 events were dropped");
  run.start.continued = true;
  EXPECT_EQ(judged(run, "cache-grows").judged, Judged::kPartly);
  EXPECT_EQ(judged(run, "cache-grows").because,
            "2 events were dropped; whoever wrote the run file was started again while the job ran, and what was going "
            "on in a region then was seen as two");
  EXPECT_EQ(judged(run, "cast-undoes-float").judged, Judged::kFull) << "it looks at no event";
}

TEST(JudgedRules, PartlyWhereCastsWereCountedThatNoEventTold) {
  store::RunData run = run_with_a_cast(true);
  run.site_uses.front().counts.hits = 1;
  EXPECT_EQ(judged(run, "cache-grows").because, "1 cast or cache hit was counted, and no event told of it");
  EXPECT_EQ(judged(run, "cast-undoes-float").judged, Judged::kFull) << "it looks at no event";
  run.step_runs.clear();
  EXPECT_EQ(judged(run, "cache-grows").because, "5 casts and cache hits were counted, and no event told of them");
  run.processes.front().lanes.front().dropped = 5;
  EXPECT_EQ(judged(run, "cache-grows").because, "5 events were dropped");
}

TEST(JudgedRules, PartlyWhereCastsBelongToNoSite) {
  store::RunData run = run_with_a_cast(true);
  run.processes.front().beyond_sites = {.casts = 3, .hits = 1};
  for (const JudgedRule& of : judged_rules(run, looked_at(run), {})) {
    EXPECT_EQ(name(of.judged), "partly") << of.rule->name;
    EXPECT_EQ(of.because, "4 casts and cache hits belong to no site") << of.rule->name;
  }
}

TEST(JudgedRules, PartlyWhereSomethingWasNotTaken) {
  store::RunData run = run_with_a_cast(true);
  run.incomplete = {{store::IncompleteReason::kProcessRejected, "host/2/1/0", "process 2 sent junk"}};
  for (const JudgedRule& of : judged_rules(run, looked_at(run), {})) {
    EXPECT_EQ(name(of.judged), "partly") << of.rule->name;
    EXPECT_EQ(of.because, "process 2 sent junk") << of.rule->name;
  }
  run.incomplete.push_back({store::IncompleteReason::kBatchRejected, "", "a batch came too late"});
  run.end->complete = false;
  EXPECT_EQ(judged(run, "cache-grows").because, "process 2 sent junk; 1 more reason in run.missing");
}

TEST(JudgedRules, PartlyWhereTheEndWasNotSeen) {
  store::RunData run = run_with_a_cast(true);
  run.end.reset();
  EXPECT_EQ(judged(run, "cast-undoes-float").judged, Judged::kPartly);
  run = run_with_a_cast(true);
  run.processes.front().end = store::ProcessEnd::kNotSeen;
  EXPECT_EQ(judged(run, "cast-undoes-float").because,
            "process 1 still ran when its record was closed: what it did after that is not in it");
  run.processes.front().end = store::ProcessEnd::kVanished;
  EXPECT_EQ(judged(run, "cast-undoes-float").judged, Judged::kFull) << "all that it did is known";
}

TEST(JudgedRules, PartlyWhereEventsNeverArrived) {
  store::RunData run = run_with_a_cast(true);
  run.processes.front().lanes.front().received = 1;
  EXPECT_EQ(judged(run, "cache-grows").because, "of 4 events that process 1 published, 3 never arrived");
  EXPECT_EQ(judged(run, "cast-undoes-float").judged, Judged::kFull) << "it looks at no event";
}

TEST(JudgedRules, NotWhereSettingsDoNotSelectIt) {
  Settings settings;
  settings.select = {"scaler-*"};
  const JudgedRule of = judged(run_with_a_cast(true), "cache-grows", settings);
  EXPECT_EQ(of.judged, Judged::kNot);
  EXPECT_TRUE(of.deselected);
  EXPECT_EQ(of.because, "castscope.json does not select it");
}

TEST(JudgedRules, DeviceRulesNeedKernelsOnlyWhereAGpuWasUsed) {
  store::RunData run = run_with_a_cast(true);
  EXPECT_EQ(judged(run, "gpu-casts-dominate").judged, Judged::kFull);
  run.sites.front().device = 1;
  EXPECT_EQ(judged(run, "gpu-casts-dominate").because, "the job used a GPU, and no kernel was timed");
}

TEST(LookedAt, WhatRunsInCompiledGraphsOrOutsideOfRegionsIsNotAsked) {
  store::RunData run = run_with_a_cast(false);
  run.sites.front().flags = lanes::kSiteCompiled;
  EXPECT_TRUE(looked_at(run).sites_not.empty());
  run.sites.front().flags = 0;
  EXPECT_EQ(looked_at(run).sites_not.size(), 1u);
  run.sites.front().region = {};
  EXPECT_TRUE(looked_at(run).sites_not.empty());
}

TEST(LookedAt, TheFirstGapIsThatOfTheProcessInWhichItCameFirst) {
  store::RunData run;
  for (const std::uint64_t gap : {0, 8, 4}) {
    store::Process process;
    process.id = store::ProcessId(run.processes.size() + 1);
    process.gauges.first_gap_plus_one = gap;
    run.processes.push_back(process);
  }
  ASSERT_TRUE(looked_at(run).first_gap);
  EXPECT_EQ(looked_at(run).first_gap->step, 3u);
  EXPECT_EQ(looked_at(run).first_gap->process, 3u);
}

TEST(LookedAt, AProcessThatWasNeverLookedAtHasItsGapAtTheFirstStep) {
  store::RunData run = run_with_a_cast(false);
  run.region_uses.resize(1);
  run.region_uses.front().process = run.processes.front().id;
  run.processes.front().gauges.deep_steps = 0;
  EXPECT_FALSE(looked_at(run).first_gap) << "it entered no region";
  run.region_uses.front().entered = 1;
  ASSERT_TRUE(looked_at(run).first_gap);
  EXPECT_EQ(looked_at(run).first_gap->step, 0u);
  run.processes.front().gauges.deep_steps = 1;
  EXPECT_FALSE(looked_at(run).first_gap);
}

TEST(DeepMode, IsThatOfTheProcessesWhereItIsAKnownWord) {
  store::RunData run;
  const auto told = [&run](const char* deep, const char* gpu) {
    run.processes.resize(1);
    run.processes.front().attributes = {{"deep", deep}, {"gpu", gpu}};
    return deep_mode(run) + " " + gpu_setting(run);
  };
  EXPECT_EQ(deep_mode(run) + " " + gpu_setting(run), "automatic auto");
  run.start.deep = "never";
  EXPECT_EQ(told("7", "events"), "7 events");
  EXPECT_EQ(told("auto", "off"), "automatic off");
  // The agent goes by the default where it does not know the word.
  for (const char* unknown : {"banana", "07", "0", "-1", "7 "})
    EXPECT_EQ(told(unknown, unknown), "automatic auto") << unknown;
  EXPECT_EQ(told("", ""), "never auto");
}

}  // namespace
}  // namespace castscope::rules
