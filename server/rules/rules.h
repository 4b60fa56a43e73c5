// The list of rules, and judge(), which runs them over a run. inquiry/rule.h defines a single rule.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "server/rules/inquiry/rule.h"
#include "server/rules/inquiry/settings.h"
#include "server/store/run/run_data.h"

namespace castscope::rules {

std::span<const Rule* const> all_rules();
// Returns nullptr when there is no rule of that name.
const Rule* find_rule(std::string_view name);

// Returns what the job suffers from this finding: that of its rule, unless its severity says that it is only slow, or
// only worth knowing.
Harm harm_of(const Finding&);

// Returns the findings of all rules that the settings select: errors first, then by rule and place; the same order
// every time. Findings that settings and comments silence are among them: judgement.h sorts these out. A damaged file
// whose evidence is incomplete has no findings.
std::vector<Finding> judge(const store::RunData&, const Settings& = {});

}  // namespace castscope::rules
