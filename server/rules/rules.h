// Rules look at what a run did and say what is wrong with it. A rule is a pure function of the run's data, so that
// it says the same during a run and about a finished file. One rule = one file here, one line in rules.cc, one
// golden case.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "server/store/run_data.h"
#include "server/store/run_store.h"

namespace castscope::rules {

using Finding = store::Finding;

struct Rule {
  std::string_view name;      // "cache-grows"
  std::string_view severity;  // error, warning, performance, info
  std::string_view summary;   // one line, for lists
  std::vector<Finding> (*judge)(const Rule&, const store::RunData&);
};

std::span<const Rule> all_rules();

// Findings of all rules: errors first, then by rule and place; the same order every time.
std::vector<Finding> judge(const store::RunData&);

// Judges what the store holds and keeps the findings in it (for the views of the run file).
absl::Status record_findings(store::RunStore&);

}  // namespace castscope::rules
