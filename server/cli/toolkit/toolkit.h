// Provides what a job needs to be observed: the preload library, and the agent for its PyTorch. They are found beside
// the program or in the user's cache folder, or are built there.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/cli/toolkit/python_probe.h"

namespace castscope::cli {

using Say = std::function<void(const std::string& sentence)>;

// The path of this very program, with links resolved.
std::string program_path();

// The cache folder of this program's sources: …/castscope/<source hash>. It is made if `make` is set.
absl::StatusOr<std::string> cache_folder(bool make);

std::string agent_file_name(const TorchInstall& torch);

// Returns "" when there is none that fits.
std::string find_preload();
std::string find_agent(const TorchInstall& torch);

// Finds the library, or builds it into the cache folder (one process at a time; the others wait for it).
absl::StatusOr<std::string> obtain_preload(const Say& say);
// A failed build is not repeated, unless `try_again` is set or the compiler is another one.
absl::StatusOr<std::string> obtain_agent(const TorchInstall& torch, const Say& say, bool try_again = false);

// Returns the folder of the extracted Python package, for the job's module path.
absl::StatusOr<std::string> obtain_python_package();

// The value of CASTSCOPE_AGENTS for the job: the user's own folders, the one beside the program, the cache.
std::string agent_search_path();

}  // namespace castscope::cli
