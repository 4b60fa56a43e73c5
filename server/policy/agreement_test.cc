// Two implementations decide by a policy: this one, with reasons, for people and for reports, and the one in the job,
// from the table that this one compiles (agent/enforce/decided/decisions.h). The test asks both about random policies
// and compares their answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "agent/enforce/decided/decisions.h"
#include "agent/enforce/decided/pattern.h"
#include "server/policy/compiled.h"
#include "server/policy/decide.h"

namespace castscope::policy {
namespace {

class Generator {
 public:
  explicit Generator(std::uint32_t seed) : random_(seed) {}

  Policy policy() {
    Policy policy = operators("generated");
    const std::size_t modules = below(4);
    for (std::size_t i = 0; i < modules; ++i) policy.modules.push_back(module());
    return policy;
  }
  // Returns an operator's name; some of them are named by no rule.
  OperatorName called() {
    OperatorName op = named();
    if (op.overload.empty()) op.overload = one_of({"default", "int", "out_of_nowhere"});
    return op;
  }
  std::string path() { return one_of({"", "a", "a.b", "a.b.c", "head", "head.fc"}); }
  std::string class_name() { return one_of({"", "m.Norm", "m.Attention"}); }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }
  bool half() { return below(2) == 0; }
  std::string one_of(std::vector<std::string> all) { return all[below(all.size())]; }

  OperatorName named() {
    // Two of them are on PyTorch's lists, by name and by overload, and one is not.
    return {one_of({"aten::linear", "aten::sum", "aten::relu", "lib::own"}), one_of({"", "default", "dim_IntList"})};
  }
  Policy operators(const std::string& name) {
    Policy policy;
    policy.name = name;
    policy.device = "any";
    if (half()) policy.dtype = static_cast<Dtype>(below(3));
    for (std::size_t i = below(6); i > 0; --i) {
      OperatorRule rule{.policy = static_cast<CastPolicy>(below(7)), .message = "", .place = ""};
      if (rule.policy == CastPolicy::kBanned && half()) rule.message = "never\tthis";
      policy.operators[named()] = rule;
    }
    for (std::size_t i = below(3); i > 0; --i)
      policy.never_cast[named()] = {.arguments = {one_of({"input", "weight"}), one_of({"bias", "index"})}, .place = ""};
    return policy;
  }
  ModuleRule module() {
    ModuleRule rule;
    rule.pattern = one_of({"a.*", "head", ".*\\.c", ".*Norm", "head|a\\.b", ""});
    rule.precision.kind = static_cast<Precision::Kind>(below(4));
    if (rule.precision.kind == Precision::Kind::kLower) rule.precision.dtype = static_cast<Dtype>(1 + below(2));
    if (rule.precision.kind == Precision::Kind::kPolicy) {
      rule.precision.policy = "another";
      rule.precision.by = std::make_shared<const Policy>(operators("another"));
    }
    return rule;
  }

  std::mt19937 random_;
};

// Returns the last matching rule of the innermost module, as agent/enforce/modules.cc finds it; -1 = none.
int rule_in_job(const enforce::PolicyTable& table, const std::vector<ModuleUse>& modules) {
  for (auto module = modules.rbegin(); module != modules.rend(); ++module) {
    for (std::size_t i = table.modules.size(); i-- > 0;) {
      std::string error;
      const auto pattern = enforce::Pattern::parse(table.modules[i].pattern, &error);
      const auto matches = [&](const std::string& name) { return pattern && pattern->matches_all(name); };
      if (matches(module->path) || std::any_of(module->classes.begin(), module->classes.end(), matches))
        return static_cast<int>(i);
    }
  }
  return -1;
}

std::set<std::string> never_cast(const enforce::Decision& decision) {
  std::set<std::string> all;
  for (const auto* arguments : decision.never)
    if (arguments != nullptr) all.insert(arguments->begin(), arguments->end());
  return all;
}

TEST(AgreementTest, TheJobDecidesAsThePolicyDoes) {
  std::size_t ruled = 0, in_modules = 0;
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    Generator generate(seed);
    const Policy policy = generate.policy();
    std::string error;
    const auto table = enforce::read_policy_table(compiled(policy), &error);
    ASSERT_TRUE(table.has_value()) << error;
    for (int i = 0; i < 60; ++i) {
      const OperatorName op = generate.called();
      const std::vector<ModuleUse> modules = modules_of(generate.path(), generate.class_name());
      const Decision here = decide(policy, op, modules);
      const int rule = rule_in_job(*table, modules);
      const enforce::Decision there = enforce::OperatorPlan(*table, {op.name, op.overload}).decide(rule);
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << op.name << "." << op.overload << " in \""
                                      << modules.back().path << "\", rule " << rule);
      EXPECT_EQ(static_cast<int>(here.policy), static_cast<int>(there.policy));
      EXPECT_EQ(static_cast<int>(here.dtype), static_cast<int>(there.dtype));
      EXPECT_EQ(here.message, there.message == nullptr ? "" : *there.message);
      EXPECT_EQ(std::set<std::string>(here.never_cast.begin(), here.never_cast.end()), never_cast(there));
      // An operator that is left alone because no rule names it leaves the operators that it calls to their own rules.
      if (here.policy == CastPolicy::kPassthrough) EXPECT_EQ(here.ruled, there.ruled);
      ruled += here.ruled;
      in_modules += rule >= 0;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(ruled, 3000u);
  EXPECT_GT(in_modules, 3000u);
}

}  // namespace
}  // namespace castscope::policy
