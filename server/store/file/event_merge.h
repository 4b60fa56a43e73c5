// Brings small event blocks together. A job that casts seldom hands over a few events at a time, and in a small block
// there is little to predict the next event from.
#pragma once

#include "absl/status/status.h"
#include "server/store/file/sqlite.h"

namespace castscope::store {

// When a run file is closed. The events of each lane stay the same and in order, and so does the gap in them; a block
// that cannot be read stays as it is. One transaction: whatever happens, the file holds the blocks of before or those
// of after. Memory: one full block.
absl::Status merge_event_blocks(Database&);

}  // namespace castscope::store
