#include "server/rules/evidence/operators/enforced_decisions.h"

#include <vector>

#include "server/policy/compiled.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/enforced_policy.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/store/run/names.h"

namespace castscope::rules {

EnforcedDecisions::EnforcedDecisions(const store::RunData& data) : data_(data), name_(enforced_policy(data)) {
  if (name_.empty() || data.start.policy.empty()) return;
  if (auto policy = policy::restored(data.start.policy); policy.ok())
    policy_ = std::make_unique<const policy::Policy>(*std::move(policy));
}

const policy::Decision* EnforcedDecisions::of(const store::OperatorUse& use) const {
  if (policy_ == nullptr) return nullptr;
  if (policy_->device != "any" && policy_->device != store::device_name(use.device)) return nullptr;
  const auto [found, fresh] = decisions_.try_emplace({use.op, use.module});
  if (!fresh) return &found->second;
  std::vector<policy::ModuleUse> modules;
  if (use.module != 0) {
    const store::Module& in = data_.modules[use.module];
    modules = policy::modules_of(in.path, in.type);
    modules.back().classes.push_back("torch.nn." + in.type);  // a recording has the classes without their package
  }
  found->second = policy::decide(*policy_, policy::operator_called(use.op), modules);
  return &found->second;
}

bool EnforcedDecisions::promotes_to_widest(const store::OperatorUse& use) const {
  const policy::Decision* const decision = of(use);
  if (decision == nullptr || !decision->ruled) return rules::promotes_to_widest(use);
  return decision->policy == policy::CastPolicy::kPromote || decision->policy == policy::CastPolicy::kPassthrough;
}

bool EnforcedDecisions::is_held_in_float32(const store::OperatorUse& use) const {
  return use.is(lanes::kUseEligible | lanes::kUseElsewhere) && use.computed == kFloat && !promotes_to_widest(use);
}

std::string EnforcedDecisions::name() const { return "the policy " + name_; }

}  // namespace castscope::rules
