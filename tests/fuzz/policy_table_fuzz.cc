// A compiled policy, as the agent reads it from the run directory and a report from a run file.
#include <string>

#include "agent/enforce/decided/decisions.h"
#include "server/policy/compiled.h"
#include "tests/fuzz/fuzzer.h"

namespace castscope::fuzz {

CASTSCOPE_FUZZER(policy_table, 4000, 4096) {
  // The second line has the hash of those that follow it: without the right one nothing behind it would be read.
  std::string text(input);
  const std::size_t first = text.find('\n'), second = text.find('\n', first == text.npos ? first : first + 1);
  if (second != text.npos)
    text.replace(first + 1, second - first - 1, "hash\t" + enforce::hash_of(std::string_view(text).substr(second + 1)));
  std::string error;
  const auto table = enforce::read_policy_table(text, &error);
  CASTSCOPE_PROMISE(table.has_value() || !error.empty(), "a table that is refused is refused with a sentence");
  const auto policy = policy::restored(text);
  CASTSCOPE_PROMISE(policy.ok() || !policy.status().message().empty(), "a refusal has a sentence");
  if (!table) return;
  for (const enforce::Overloaded& op : enforce::operators_of(*table)) {
    const enforce::OperatorPlan plan(*table, op);
    for (int rule = -1; rule < static_cast<int>(table->modules.size()) && plan.depends_on_module(); ++rule)
      (void)plan.decide(rule);
    (void)plan.who(enforce::Device::kCpu, true);
  }
}

}  // namespace castscope::fuzz
