// What of an enforced policy came to nothing: a pattern that no module matches is mostly a misspelt one.
#pragma once

#include <string>
#include <vector>

#include "server/rules/inquiry/settings.h"
#include "server/store/run/run_data.h"

namespace castscope::rules {

// A sentence for each rule that nothing in the run met, the first few; none where not all of the run was seen, or
// autocast was not used on the policy's device.
std::vector<std::string> unmet_rules(const store::RunData&, const Settings&);

}  // namespace castscope::rules
