#include "agent/enforce/decided/decisions.h"

#include <algorithm>
#include <set>

namespace castscope::enforce {
namespace {

Decision by_operator(const OperatorTable& table, const Overloaded& op) {
  Decision decision;
  decision.dtype = table.dtype;
  decision.never[0] = table.never(op.first, op.second);
  if (const OperatorRule* rule = table.find(op.first, op.second)) {
    decision.ruled = true;
    decision.policy = rule->policy;
    decision.message = &rule->message;
  }
  return decision;
}

bool is_known(const PolicyTable& policy, const Overloaded& op) {
  return std::any_of(policy.known.begin(), policy.known.end(), [&](const Overloaded& known) {
    return known.first == op.first && (known.second.empty() || known.second == op.second);
  });
}

Decision in_module(const PolicyTable& policy, const ModuleRule& rule, const Overloaded& op, Decision usual) {
  switch (rule.kind) {
    case ModuleRule::Kind::kFp32:
      if (usual.policy != CastPolicy::kPassthrough || is_known(policy, op)) usual.policy = CastPolicy::kFp32;
      return usual;
    case ModuleRule::Kind::kPassthrough:
      usual.policy = CastPolicy::kPassthrough;
      usual.ruled = true;
      return usual;
    case ModuleRule::Kind::kLower:
      usual.dtype = rule.dtype;
      return usual;
    case ModuleRule::Kind::kTable:
      break;
  }
  Decision other = by_operator(policy.tables[rule.table], op);
  other.never[1] = usual.never[0];
  return other;
}

bool names(const std::map<Overloaded, CastPolicy>& list, const Overloaded& op, std::optional<CastPolicy>& into) {
  auto found = list.find(op);
  if (found == list.end()) found = list.find({op.first, ""});
  if (found != list.end()) into = found->second;
  return found != list.end();
}

bool has_exceptions(const Decision& d) { return d.never[0] != nullptr || d.never[1] != nullptr; }

// Whether PyTorch's kernel does it without us: to a lower precision, only if the region's dtype is meant.
bool is_pytorchs(const Decision& d, CastPolicy pytorchs) {
  if (d.policy != pytorchs || has_exceptions(d)) return false;
  if (d.policy == CastPolicy::kBanned) return d.message == nullptr || d.message->empty();  // our message differs
  const bool lower = d.policy == CastPolicy::kLowerPrecision || d.policy == CastPolicy::kPromote;
  return !lower || d.dtype == LowerDtype::kAmbient;
}

// Whether each argument is cast, or left, by itself. To promote, all arguments must be known first. And autocast does
// not reach what PyTorch's kernel calls, as it must for an operator that no rule names.
bool is_argumentwise(const Decision& d, CastPolicy pytorchs) {
  const auto by_itself = [](CastPolicy p) { return p == CastPolicy::kLowerPrecision || p == CastPolicy::kFp32; };
  const bool left = d.policy == CastPolicy::kPassthrough && d.ruled;
  return by_itself(pytorchs) && (by_itself(d.policy) || left) && !has_exceptions(d);
}

}  // namespace

OperatorPlan::OperatorPlan(const PolicyTable& policy, const Overloaded& op)
    : policy_(policy), usual_(by_operator(policy.tables[0], op)) {
  for (const ModuleRule& rule : policy.modules) in_module_.push_back(in_module(policy, rule, op, usual_));
  for (std::size_t i = 0; i < kDeviceWords.size(); ++i) {
    const auto list = policy.pytorchs.find(std::string(kDeviceWords[i]));
    if (list != policy.pytorchs.end()) names(list->second, op, pytorchs_[i]);
  }
}

bool OperatorPlan::has_exceptions() const {
  return enforce::has_exceptions(usual_) || std::any_of(in_module_.begin(), in_module_.end(),
                                                        [](const Decision& d) { return enforce::has_exceptions(d); });
}

bool OperatorPlan::applies_to(Device device) const {
  return policy_.is_for(kDeviceWords[static_cast<std::size_t>(device)]);
}

bool OperatorPlan::all(bool (*test)(const Decision&, CastPolicy), CastPolicy pytorchs) const {
  return test(usual_, pytorchs) &&
         std::all_of(in_module_.begin(), in_module_.end(), [&](const Decision& d) { return test(d, pytorchs); });
}

By OperatorPlan::who(Device device, bool has_kernel) const {
  if (!applies_to(device)) return By::kPyTorch;
  const std::optional<CastPolicy> listed = pytorchs_[static_cast<std::size_t>(device)];
  if (has_kernel && !listed) return By::kKernel;
  // An operator without a kernel is left alone.
  const CastPolicy pytorchs = has_kernel ? *listed : CastPolicy::kPassthrough;
  if (all(is_pytorchs, pytorchs)) return By::kPyTorch;
  return all(is_argumentwise, pytorchs) ? By::kAddress : By::kKernel;
}

std::vector<Overloaded> operators_of(const PolicyTable& policy) {
  std::set<Overloaded> all;
  for (const OperatorTable& table : policy.tables) {
    for (const auto& [op, rule] : table.operators) all.insert(op);
    for (const auto& [op, arguments] : table.never_cast) all.insert(op);
  }
  for (const auto& [device, list] : policy.pytorchs)
    for (const auto& [op, is] : list) all.insert(op);
  if (!policy.modules.empty()) all.insert(policy.known.begin(), policy.known.end());
  return {all.begin(), all.end()};
}

}  // namespace castscope::enforce
