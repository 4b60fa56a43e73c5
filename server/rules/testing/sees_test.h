// Holds what rules say they look at (Rule::sees) against what they find: each run that a test of a rule makes is judged
// again as it would be had one kind of evidence not been recorded.
#pragma once

#include <vector>

#include "server/rules/evidence/finding.h"
#include "server/store/run/run_data.h"

namespace castscope::rules {

// Expects that a rule that finds nothing any more says that it looks at that kind. When all tests have run: that each
// rule that says so lost its findings in some test.
void hold_against_what_rules_say_they_see(const store::RunData& run, const std::vector<Finding>& findings);

}  // namespace castscope::rules
