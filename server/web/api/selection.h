// Searches a run: finds the sites, operators and regions whose name, file or module contains the text.
#pragma once

#include <memory>
#include <string>

#include "server/timeline/questions/queries.h"
#include "server/web/runs/snapshot.h"

namespace castscope::web {

// Upper and lower case are the same.
timeline::Selection select(const Snapshot& snapshot, const std::vector<timeline::Shade>& shades,
                           const std::string& text);

}  // namespace castscope::web
