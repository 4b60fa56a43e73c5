// All rules, and what they say of a run. What a single one is: inquiry/rule.h.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "server/rules/inquiry/rule.h"
#include "server/rules/inquiry/settings.h"
#include "server/store/run/run_data.h"

namespace castscope::rules {

std::span<const Rule* const> all_rules();
// nullptr when there is none of that name.
const Rule* find_rule(std::string_view name);

// Findings of all rules that the settings select: errors first, then by rule and place; the same order every time.
// What settings and comments silence is among them: judgement.h sorts it out. None of a damaged file whose evidence is
// not all there.
std::vector<Finding> judge(const store::RunData&, const Settings& = {});

}  // namespace castscope::rules
