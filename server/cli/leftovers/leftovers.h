// Runs that are left over: their recorder is gone, and what it had not taken yet lies in their run directories.
#pragma once

#include <string>
#include <vector>

#include "server/cli/job/run_directory.h"

namespace castscope::cli {

// All of this user's, other people's who share the account among them.
std::vector<RunDirectory> leftovers();

// Run directories that nobody uses any more, and from which no run file can be made: that of a process which was killed
// before it had cast anything, say.
std::vector<RunDirectory> empty_ones();

// Whether the file at this path is that of the run.
bool is_file_of(const std::string& path, const RunDirectory& directory);

// "2026-11-29 10:00:00, 3 hours ago"; both in seconds since 1970.
std::string moment(std::int64_t second, std::int64_t now);

// Tells of the run, a line for each of: its directory, when it began, its command and folder, its job, its size, who
// still writes into it, where `castscope recover` would put its file. `now` is in seconds since 1970.
std::string told(const RunDirectory& directory, std::int64_t now);

// The directory and the command, in one line, whatever the command contains.
std::string title(const RunDirectory& directory);

}  // namespace castscope::cli
