// Run files in which no run is: their writer was killed while it made them.
#pragma once

#include <string>

namespace castscope::store {

// Whether nothing is in this file, and nothing was. False also where its log is gone, which may have held a run, and
// for a file that is not as a collector of this user makes it. Nobody may be writing it; what was half written SQLite
// takes back.
bool is_stub(const std::string& path);

}  // namespace castscope::store
