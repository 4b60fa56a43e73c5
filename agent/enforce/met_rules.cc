#include "agent/enforce/met_rules.h"

#include <mutex>

#include "agent/memory/own_memory.h"
#include "agent/session/process.h"

namespace castscope::enforce {
namespace {

constexpr std::string_view kAttribute = "policy_rule_met";  // server/rules/unmet_policy.cc reads it

struct Met {
  std::mutex mutex;
  memory::OwnTextMap<bool> rules;
};
Met& met() {
  static Met* const all = new Met;  // never taken down
  return *all;
}

}  // namespace

void rule_met(std::string_view kind, std::string_view rule) {
  memory::OwnString text(kind);
  text.append(" ").append(rule);
  const std::lock_guard lock(met().mutex);
  if (!met().rules.try_emplace(text, true).second) return;
  if (agent::Recording* r = agent::g_process.recording.load()) r->definitions.attribute(kAttribute, text);
}

void tell_rules_met(agent::Definitions& definitions) {
  const std::lock_guard lock(met().mutex);
  for (const auto& [rule, yes] : met().rules) definitions.attribute(kAttribute, rule);
}

void hold_rules_met() { met().mutex.lock(); }
void release_rules_met() { met().mutex.unlock(); }

}  // namespace castscope::enforce
