// Policy files (server/policy/policy_file.h), and what becomes of one that is understood: the table that the agent
// reads.
#include <string>

#include "agent/enforce/decided/decisions.h"
#include "server/policy/compiled.h"
#include "server/policy/policy_file.h"
#include "tests/fuzz/fuzzer.h"

namespace castscope::fuzz {

CASTSCOPE_FUZZER(policy, 4000, 4096) {
  const auto file = policy::parse_policy(std::string(input), "mine.json", policy::Operators::of_pytorch());
  if (!file.ok()) {
    CASTSCOPE_PROMISE(sentence_of(file.status()).starts_with("mine.json:"), "a complaint names its place");
    return;
  }
  policy::Policy policy = file->policy;
  // What load() does for policies that name others.
  for (policy::ModuleRule& rule : policy.modules)
    if (rule.precision.kind == policy::Precision::Kind::kPolicy)
      rule.precision.by = std::make_shared<const policy::Policy>(file->policy);
  if (policy.device.empty()) policy.device = "any";
  policy.name = "mine.json";
  const std::string compiled = policy::compiled(policy);
  std::string error;
  const auto table = enforce::read_policy_table(compiled, &error);
  CASTSCOPE_PROMISE(table.has_value(), "the agent reads each policy that castscope understands: " + error);
  for (const enforce::Overloaded& op : enforce::operators_of(*table)) (void)enforce::OperatorPlan(*table, op);
  const auto restored = policy::restored(compiled);
  CASTSCOPE_PROMISE(restored.ok(), "castscope reads what it has compiled");
  CASTSCOPE_PROMISE(policy::compiled(*restored) == compiled, "a policy that was restored is compiled to the same");
}

}  // namespace castscope::fuzz
