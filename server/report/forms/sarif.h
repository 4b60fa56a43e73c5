// Findings as SARIF 2.1.0, for code scanning in pull requests. Within GitHub's limits: 25,000 results a run (it shows
// 5,000), 100 locations a result, 10 tags a rule.
#pragma once

#include <string>

#include "server/report/findings/since_baseline.h"
#include "server/report/model/model.h"

namespace castscope::report {

struct SarifOptions {
  std::string category = {};                // for automationDetails.id; "" = castscope/SCRIPT
  const SinceBaseline* baseline = nullptr;  // null = results have no baselineState
};

std::string sarif_text(const Model&, const SarifOptions& = {});  // indented, with a newline at the end

}  // namespace castscope::report
