// What to say where a file system has no room (ENOSPC): it may be one for files, and not for bytes.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace castscope::store {

// Whether the file system of this file's folder has no inode left for another one.
bool has_no_inodes(const std::string& path);

absl::Status no_room(const std::string& path);

}  // namespace castscope::store
