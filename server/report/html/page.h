// Writes a run as one page: it opens from disk, asks the network for nothing, has no script, and prints. Findings come
// first, with the source as it was at the run's end.
#pragma once

#include <string>

#include "server/report/model/model.h"

namespace castscope::report {

std::string html_text(const Model&);

}  // namespace castscope::report
