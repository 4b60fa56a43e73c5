// What a search finds: the sites, operators and regions whose name, file or module has the text in it.
#pragma once

#include <memory>
#include <string>

#include "server/timeline/questions/queries.h"
#include "server/web/runs/snapshot.h"

namespace castscope::web {

// Case does not matter.
timeline::Selection select(const Snapshot& snapshot, const std::vector<timeline::Shade>& shades,
                           const std::string& text);

}  // namespace castscope::web
