#include "server/rules/testing/sees_test.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>

#include "server/rules/rules.h"

namespace castscope::rules {
namespace {

using enum lanes::FactKind;
constexpr std::array kKinds = {kOperators, kEvents, kDevice};

// Takes away what `--deep never` does not record: operators, the operator that a fact names, and the facts that the
// agent records only in deep steps.
void forget_operators(store::RunData& run) {
  run.use_counts.clear();
  run.flow_counts.clear();
  run.flows = {};
  run.operator_uses = {};
  run.value_ranges.clear();
  for (store::Fact& fact : run.facts) {
    if (lanes::subject_of(fact.kind) == lanes::FactSubject::kOperatorUse) fact.subject = 0;
    if (fact.kind == kScale || fact.kind == kClip || fact.kind == kRegionLeaked) fact.kind = {};
  }
  for (store::ScalerUse& use : run.scaler_uses) use.update_between_backwards = use.clip_before_unscale = {};
  for (store::Kernel& kernel : run.kernels) kernel.use = {};
  for (store::Matmul& matmul : run.matmuls) matmul.use = {};
  for (store::Process& process : run.processes)
    process.gauges.deep_steps = process.gauges.deep_operators = process.gauges.deep_ns = 0;
}

void forget_events(store::RunData& run) {
  for (store::SiteUse& use : run.site_uses) use.evidence = {};
  run.region_uses.clear();
  run.step_runs.clear();
  run.behaviour_sites.clear();
  run.value_ranges.clear();
  run.scaler_uses.clear();
}

void forget_device(store::RunData& run) {
  run.kernel_counts.clear();
  run.kernels = {};
  run.matmul_counts.clear();
  run.matmuls = {};
}

std::set<std::string> rules_of(const std::vector<Finding>& findings) {
  std::set<std::string> rules;
  for (const Finding& finding : findings) rules.insert(finding.rule);
  return rules;
}

store::RunData without(Sees kind, store::RunData run) {
  if (kind == kOperators) forget_operators(run);
  if (kind == kEvents) forget_events(run);
  if (kind == kDevice) forget_device(run);
  return run;
}

// Which kinds each rule was seen to need, of those that found something.
std::map<std::string, std::uint8_t> g_needed;

class AllTests : public ::testing::Environment {
  void TearDown() override {
    const auto& tests = *::testing::UnitTest::GetInstance();
    if (tests.test_to_run_count() != tests.total_test_count()) return;
    for (const Rule* rule : all_rules())
      if (const auto needed = g_needed.find(std::string(rule->name)); needed != g_needed.end())
        EXPECT_EQ(int{rule->sees} & ~kSomeOperators,
                  int{needed->second} & ~(rule->sees & kSomeOperators ? kOperators : 0))
            << rule->name << ": no test shows that it needs all of `sees`";
  }
};
::testing::Environment* const g_all_tests = ::testing::AddGlobalTestEnvironment(new AllTests);

}  // namespace

void hold_against_what_rules_say_they_see(const store::RunData& run, const std::vector<Finding>& findings) {
  const std::set<std::string> found = rules_of(findings);
  for (const std::string& rule : found) g_needed.try_emplace(rule, 0);
  for (const Sees kind : kKinds) {
    const std::set<std::string> left = rules_of(judge(without(kind, run)));
    for (const std::string& rule : found) {
      if (left.contains(rule)) continue;
      g_needed[rule] |= kind;
      EXPECT_TRUE(find_rule(rule)->sees & (kind | (kind == kOperators ? kSomeOperators : 0)))
          << rule << " finds nothing without evidence of kind " << int{kind};
    }
  }
}

}  // namespace castscope::rules
