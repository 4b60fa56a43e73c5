// What has to be there before a job can be observed: the preload library, and the agent for its PyTorch. Found beside
// the program, or in the user's cache folder, or built there.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/cli/toolkit/python_probe.h"

namespace castscope::cli {

using Say = std::function<void(const std::string& sentence)>;

// This very program, links resolved.
std::string program_path();

// The cache folder of this program's sources: …/castscope/<source hash>. Made when `make` is set.
absl::StatusOr<std::string> cache_folder(bool make);

std::string agent_file_name(const TorchInstall& torch);

// "" when there is none that fits.
std::string find_preload();
std::string find_agent(const TorchInstall& torch);

// Finds, or builds into the cache folder (one process at a time; the others wait for it).
absl::StatusOr<std::string> obtain_preload(const Say& say);
// A build that failed is not tried again by itself, unless the compiler is another one.
absl::StatusOr<std::string> obtain_agent(const TorchInstall& torch, const Say& say, bool try_again = false);

// The folder of the Python package, extracted: what goes on the job's module path.
absl::StatusOr<std::string> obtain_python_package(const Say& say);

// CASTSCOPE_AGENTS for the job: the user's own, beside the program, the cache.
std::string agent_search_path();

}  // namespace castscope::cli
