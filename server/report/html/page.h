// A run as one page: opens from disk, asks the network for nothing, has no script, prints. Findings come first, with
// the source as it was at the run's end.
#pragma once

#include <string>

#include "server/report/model/model.h"

namespace castscope::report {

std::string html_text(const Model&);

}  // namespace castscope::report
