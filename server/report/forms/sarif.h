// Findings as SARIF 2.1.0, for code scanning in pull requests. Within GitHub's limits: 25,000 results a run (it shows
// 5,000), 100 locations a result, 10 tags a rule.
#pragma once

#include <string>

#include "server/report/model/model.h"

namespace castscope::report {

inline constexpr std::size_t kMostSarifResults = 25'000;  // with more GitHub refuses the file; errors come first
inline constexpr std::size_t kMostSarifRelated = 99;      // beside the finding's own place

std::string sarif_text(const Model&);  // indented, with a newline at the end

// "src/train.py" and true, or "/opt/lib/x.py" and false, percent-encoded: a URI relative to the run's folder or not.
std::pair<std::string, bool> uri_of(const store::RunData&, const std::string& file);

}  // namespace castscope::report
