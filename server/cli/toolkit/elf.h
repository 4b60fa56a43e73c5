// Reads facts from PyTorch's libraries without loading them.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace castscope::cli {

// Returns the GNU build-id in hex, or "<size>-<mtime>" when there is none: the same as agent/preload/originals.c
// returns for the loaded library.
absl::StatusOr<std::string> library_key(const std::string& path);

absl::StatusOr<bool> file_contains(const std::string& path, std::string_view text);

}  // namespace castscope::cli
