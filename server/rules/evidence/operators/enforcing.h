// What `castscope run --enforce` would have saved of a run that was only observed. An estimate: it takes what the casts
// of weights cost here, leaves those that its cache would have served, and adds what it costs to prove that a weight
// was not written (docs/decisions/enforcing.md has the figures).
#pragma once

#include <optional>
#include <string>

#include "server/store/run/run_data.h"

namespace castscope::rules {

// The policy that the job ran under; "" = none, PyTorch decided.
std::string enforced_policy(const store::RunData&);
std::string enforced_policy_hash(const store::RunData&);

// Nothing where a policy was enforced already, steps are not known, or less than two hundredths would be saved.
std::optional<store::Savings> saved_by_enforcing(const store::RunData&);

}  // namespace castscope::rules
