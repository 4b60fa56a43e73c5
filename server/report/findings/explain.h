// The output of `castscope rules` and `castscope rules RULE`: the rules' own words, for people and for programs.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "server/rules/inquiry/rule.h"

namespace castscope::report {

std::string explanation_text(const rules::Rule&, int width);
// The words that summaries use of casts, each in a sentence: `castscope explain casts`.
std::string words_of_casts(int width);
nlohmann::ordered_json explanation_json(const rules::Rule&);  // as rule_list_json(), with this rule alone

std::string rule_list_text(int width);
nlohmann::ordered_json rule_list_json();

// The subject of a rule, which is the first word of its name: "cache", "dtype".
std::string_view group_of(const rules::Rule&);

}  // namespace castscope::report
