// The policy that a run is held against: the one that is asked for now, else the one that it was started with.
#pragma once

#include <memory>
#include <string>

#include "server/policy/policy.h"
#include "server/rules/inquiry/settings.h"
#include "server/store/run/run_data.h"

namespace castscope::rules {

// Null: none.
std::shared_ptr<const policy::Policy> policy_in_force(const store::RunData&, const Settings&);

// "the policy p.json is for cuda, and autocast was used on cpu alone: it says nothing of this run"; "" = it does.
std::string unused_policy(const store::RunData&, const Settings&);

}  // namespace castscope::rules
