// Finds rules of an enforced policy that had no effect: a pattern that no module matches is usually misspelt.
#pragma once

#include <string>
#include <vector>

#include "server/rules/inquiry/settings.h"
#include "server/store/run/run_data.h"

namespace castscope::rules {

// Returns a sentence for each of the first few rules that nothing in the run met; none where a part of the run was not
// seen, or autocast was not used on the policy's device.
std::vector<std::string> unmet_rules(const store::RunData&, const Settings&);

}  // namespace castscope::rules
