// Opens run files. Nothing in a file is trusted: it may come from anywhere.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "server/store/file/sqlite.h"

namespace castscope::store {

// A connection to a castscope run file of a format we know, or a sentence that says what is wrong with it.
absl::StatusOr<Database> open_run_file(const std::string& path, bool to_write = false);

// The same, of a connection that cannot write, whatever the rights of the file: for SQL of others.
absl::StatusOr<Database> open_to_read(const std::string& path);

// The format of an open file.
absl::StatusOr<std::int64_t> format_of(const Database&);

// For reports, of a file that may be damaged or cut short: a connection whose each() gives the rows that can be read.
absl::StatusOr<Database> open_as_it_is(const std::string& path);

}  // namespace castscope::store
