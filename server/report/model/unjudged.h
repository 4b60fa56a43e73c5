// Sentences about rules that could not judge all of a run: without them an empty list of findings would look like more
// than it is.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "server/report/model/model.h"

namespace castscope::report {

// "28 of 67 rules could not judge the run: no step was looked at operator by operator: --deep never"; "… could judge
// only part of the run: …". Empty where each rule could. Rules that settings do not select are left out.
std::vector<std::string> unjudged_sentences(std::span<const rules::JudgedRule> rules);

}  // namespace castscope::report
