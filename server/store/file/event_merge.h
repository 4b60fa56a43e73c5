// Brings small event blocks together. A job that casts seldom hands over a few events at a time, and in a small block
// there is little to predict the next event from.
#pragma once

#include "absl/status/status.h"
#include "server/store/file/sqlite.h"

namespace castscope::store {

// Called when a run file is closed. The events of each lane stay the same and in order, and so does the gap in them; a
// block that cannot be read stays as it is. All of it is one transaction: whatever happens, the file holds either the
// blocks of before or those of after. It takes the memory of one full block.
absl::Status merge_event_blocks(Database&);

}  // namespace castscope::store
