// How much of a run's events its file keeps, and whether it may take the place of another.
#pragma once

#include <cstddef>

namespace castscope::store {

struct StoreOptions {
  bool keep_all = false;  // every event block stays
  // Packed bytes that stay per process otherwise: from the begin, and the newest.
  std::size_t first_window_bytes = 128 << 10;
  std::size_t newest_window_bytes = 384 << 10;
  bool overwrite = false;  // else an existing file is an error
  // A commit waits until the disk has it, and a power cut takes nothing that was committed. Otherwise it may take the
  // last commits; the file stays whole, and a killed writer loses nothing in either case.
  bool syncs_commits = false;
};

}  // namespace castscope::store
