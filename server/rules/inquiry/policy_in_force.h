// Finds the policy that a run is compared with: the one that is requested now, else the one with which it was started.
#pragma once

#include <memory>
#include <string>

#include "server/policy/policy.h"
#include "server/rules/inquiry/settings.h"
#include "server/store/run/run_data.h"

namespace castscope::rules {

// Returns null when there is none.
std::shared_ptr<const policy::Policy> policy_in_force(const store::RunData&, const Settings&);

// Returns "the policy p.json is for cuda, and autocast was used on cpu alone: it says nothing of this run"; "" when the
// policy is for a device that was used.
std::string unused_policy(const store::RunData&, const Settings&);

}  // namespace castscope::rules
