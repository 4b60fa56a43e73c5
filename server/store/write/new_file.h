// Lays out a new run file: its tables and views, and the words that stand for the numbers in them.
#pragma once

#include "absl/status/status.h"
#include "server/store/file/sqlite.h"

namespace castscope::store {

// The file must be empty. It does not wait for the disk: a power cut may leave an empty file behind.
absl::Status lay_out_new_file(Database&);

}  // namespace castscope::store
