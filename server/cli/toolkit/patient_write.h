// Writing to a file that others read, who may have stopped reading: a pipe, a socket or a terminal. A plain write()
// there waits for as long as they do not read.
#pragma once

#include <chrono>
#include <string_view>

namespace castscope::cli {

// Writes the text, and waits for its readers for no longer than `patience` altogether. Returns false if the rest of the
// text was dropped for that, or could not be written. What others do with the same file is not changed: it stays as it
// was opened, since the job and its parents have it, too.
bool write_within(int file, std::string_view text, std::chrono::milliseconds patience);

}  // namespace castscope::cli
