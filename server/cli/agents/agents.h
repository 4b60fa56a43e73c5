// Provides the agent for a job's PyTorch. It is found beside the program or in the user's cache folder, or is built
// there. An agent is used only after it has passed its self-test with this Python and this PyTorch.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/cli/toolkit/cache_folder.h"
#include "server/cli/toolkit/elf.h"
#include "server/cli/toolkit/python_probe.h"

namespace castscope::cli {

std::string agent_file_name(const TorchInstall& torch);

// Returns the versions that an agent asks for and its PyTorch does not. Where there are none, the agent loads wherever
// its PyTorch does.
absl::StatusOr<std::vector<SymbolVersion>> versions_beyond_torch(const std::string& agent, const TorchInstall& torch);

// `glibc` is the version that the job has, "2.36"; "" where it is not known. An agent that was built by a newer
// compiler may ask for more than its PyTorch does, and is then used only where that is there.

// Returns "" when there is none that fits, or none that is whole.
std::string find_agent(const TorchInstall& torch, const std::string& glibc);

// Finds the agent, or builds it into the cache folder (one process at a time; the others wait for it). `python` has a
// PyTorch. What failed, the build or the self-test, is not repeated, unless `try_again` is set, or what it was made
// from has changed. FailedPrecondition or Aborted: there is an agent, which has failed its
// self-test, or could not be tested.
absl::StatusOr<std::string> obtain_agent(const PythonInstall& python, const std::string& glibc, const Say& say,
                                         bool try_again = false);

// The value of CASTSCOPE_AGENTS for the job: the user's own folders, the one beside the program, the cache.
std::string agent_search_path(const std::string& glibc);

}  // namespace castscope::cli
