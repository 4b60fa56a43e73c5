// How a library that jobs load is put into a folder, and whether it is still whole there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace castscope::cli {

// Returns no value when the file cannot be read.
std::optional<std::string> content_of(const std::string& path);

// Appends the seal by which the preload library knows a whole file (agent/interposed/seal.h).
absl::Status seal(const std::string& path);
bool is_sealed(const std::string& path);
// Returns the hash that the seal has, in hex; "" when the file is not whole.
std::string sealed_hash(const std::string& path);

// Renames a file, once its content is on the disk: after a loss of power there is no file, or the whole file.
absl::Status put_into_place(const std::string& from, const std::string& to);

// Writes a library or a program, with the same promise. A file that has this content is left alone.
absl::Status write_library(const std::string& path, std::string_view content);

}  // namespace castscope::cli
