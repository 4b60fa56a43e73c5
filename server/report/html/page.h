// Writes a run as one page: it opens from disk, asks the network for nothing, has no script, and prints on a few
// sheets. The verdict and the totals come first, then the findings, with the source as it was at the run's end. However
// many there are of anything, the page stays small: the costliest are shown, more are folded, the rest is counted.
#pragma once

#include <string>

#include "server/report/model/model.h"

namespace castscope::report {

std::string html_text(const Model&);

}  // namespace castscope::report
