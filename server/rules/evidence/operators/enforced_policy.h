// Estimates what `castscope run --enforce` would have saved of a run that was only observed: it takes the cost of the
// casts of weights here, subtracts the casts that the policy's cache would have served, and adds the cost of proving
// that a weight was not written (docs/decisions/enforcing.md has the figures).
#pragma once

#include <optional>
#include <string>

#include "server/store/run/run_data.h"

namespace castscope::rules {

// Returns the policy that the job ran under; "" = none, PyTorch decided.
std::string enforced_policy(const store::RunData&);
std::string enforced_policy_hash(const store::RunData&);

// Returns nothing where a policy was enforced already, where steps are not known, or where less than two hundredths
// would be saved.
std::optional<store::Savings> saved_by_enforcing(const store::RunData&);

}  // namespace castscope::rules
