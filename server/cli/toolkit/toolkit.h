// Provides what a job needs to be observed besides the preload library: the agent for its PyTorch, and the Python
// package. They are found beside the program or in the user's cache folder, or are put there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/cli/toolkit/cache_folder.h"
#include "server/cli/toolkit/python_probe.h"

namespace castscope::cli {

// The path of this very program, with links resolved.
std::string program_path();

std::string agent_file_name(const TorchInstall& torch);

// `glibc` is the version that the job has, "2.36"; "" where it is not known. An agent that was built by a newer
// compiler may ask for more than its PyTorch does, and is then used only where that is there.

// Returns "" when there is none that fits, or none that is whole.
std::string find_agent(const TorchInstall& torch, const std::string& glibc);

// Finds the agent, or builds it into the cache folder (one process at a time; the others wait for it). A failed build
// is not repeated, unless `try_again` is set, or what it was built from has changed.
absl::StatusOr<std::string> obtain_agent(const TorchInstall& torch, const std::string& glibc, const Say& say,
                                         bool try_again = false);

// Returns the folder of the extracted Python package, for the job's module path.
absl::StatusOr<std::string> obtain_python_package();

// The value of CASTSCOPE_AGENTS for the job: the user's own folders, the one beside the program, the cache.
std::string agent_search_path(const std::string& glibc);

}  // namespace castscope::cli
