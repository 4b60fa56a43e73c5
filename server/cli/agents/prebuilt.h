// Agents that a released program carries, so that no compiler is needed where a job runs. They lie, compressed, in a
// section of the program's file of their own; scripts/agents makes them, and scripts/release puts them in. A program
// that was built from a checkout has none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/cli/toolkit/python_probe.h"

namespace castscope::cli {

constexpr char kPrebuiltSection[] = ".castscope.agents";

struct PrebuiltAgent {
  std::string torch_key;      // of the PyTorch that it was built with: TorchInstall::key
  std::string torch_version;  // "2.13.0"
  bool cxx11_abi = true;
  std::string compressed;  // by zstd: the whole file, with its seal
};

// An archive of agents that were built from the sources of this hash (recipe.h).
std::string archive_of(const std::vector<PrebuiltAgent>& agents, std::string_view sources);
// An archive of other sources has no agents for this program: the vector is empty. An error: it is damaged.
absl::StatusOr<std::vector<PrebuiltAgent>> agents_in(std::string_view archive, std::string_view sources);

// Those of this program that may fit, the best first: of the very build, then of another build of the same version
// (wheels of one version for CPU and for CUDA have the same headers). The self-test tells whether one does fit.
std::vector<PrebuiltAgent> prebuilt_for(const TorchInstall& torch);

// "2.13.0+cu130" → "2.13.0"
std::string release_of(const std::string& torch_version);

absl::StatusOr<std::string> decompressed(const std::string& compressed);
std::string compressed(const std::string& content);

}  // namespace castscope::cli
