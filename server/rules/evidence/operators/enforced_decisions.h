// Looks up the decisions of the policy that castscope enforced, where it decides in place of PyTorch's lists.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "server/policy/decide.h"
#include "server/store/run/run_data.h"

namespace castscope::rules {

class EnforcedDecisions {
 public:
  explicit EnforcedDecisions(const store::RunData&);  // the run's data must outlive this
  // Returns nullptr where PyTorch's own lists decide.
  const policy::Decision* of(const store::OperatorUse&) const;
  // The operator computes in the widest dtype that it is given (server/rules/evidence/operators/uses.h answers this for
  // PyTorch's own lists).
  bool promotes_to_widest(const store::OperatorUse&) const;
  // Autocast brings the operator to float32, on its device or another: norms, softmax, losses, powers.
  bool is_held_in_float32(const store::OperatorUse&) const;
  // Returns nullptr where no policy was enforced.
  const policy::Policy* policy() const { return policy_.get(); }
  // Returns "the policy mine.json".
  std::string name() const;

 private:
  const store::RunData& data_;
  std::unique_ptr<const policy::Policy> policy_;
  std::string name_;
  mutable std::map<std::pair<std::string, store::ModuleId>, policy::Decision> decisions_;  // by operator and module
};

}  // namespace castscope::rules
