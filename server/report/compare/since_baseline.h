// Holds a run's findings against an earlier run or report, for forms that tell both.
#pragma once

#include "server/report/compare/account.h"
#include "server/report/findings/since_baseline.h"
#include "server/report/model/model.h"

namespace castscope::report {

SinceBaseline since_baseline(const Model&, const Account& baseline);

}  // namespace castscope::report
