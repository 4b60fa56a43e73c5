// Reads a report from a pipe: a named one, or one of the shell's (`castscope check <(…)`).
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace castscope::report {

bool is_pipe(const std::string& path);

// Reads all that is written into the pipe. Waits for its writer as long as there is one; where nobody has opened the
// pipe to write, at most `patience`. Of a writer who writes more than `most` bytes, only a little more is read.
absl::StatusOr<std::string> read_pipe(const std::string& path, std::size_t most,
                                      std::chrono::milliseconds patience = std::chrono::seconds(5));

}  // namespace castscope::report
