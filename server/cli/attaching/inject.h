// Brings the preload library into a process that runs without it: by Python's own way (sys.remote_exec, from 3.14 on),
// or by gdb, which stops the process and calls functions in it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/cli/attaching/running.h"
#include "server/cli/job/run_directory.h"

namespace castscope::cli {

enum class Way { kRemoteExec, kGdb };

// Unimplemented: only gdb is left, which is to be asked for. The sentence says what can go wrong.
absl::StatusOr<Way> way_into(const Running& process, bool by_gdb);

// What the library reads where others have the job's environment: NAME=VALUE, each with an end.
absl::Status prepare_injection(const RunDirectory& directory, const std::string& library, const std::string& agents);

// Returns when the process has its control page, or with what went wrong.
absl::Status inject(const Running& process, Way way, const RunDirectory& directory);

// The program for gdb.
std::string gdb_script(const std::string& library);

}  // namespace castscope::cli
