// The forms in which variables are handed to those who start a job: a shell, a container's tool, a batch system, Ray.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace castscope::cli {

using Variables = std::vector<std::pair<std::string, std::string>>;

// A path of this machine that the job must find under the same path in its container, or under another.
struct Mount {
  std::string here, there;
  bool writable = false;
  bool operator==(const Mount&) const = default;
};

enum class VariableForm { kShell, kPlain, kDocker, kApptainer, kKubernetes, kSlurm, kRay };

// Whether the job has a file system of its own there.
bool is_of_container(VariableForm form);

// Returns the text to print. An error is a sentence about a value that this form cannot hold.
absl::StatusOr<std::string> in_form(VariableForm form, const Variables& variables, const std::vector<Mount>& mounts);

// Where the program is put in a container.
inline constexpr char kProgramInContainer[] = "/usr/local/bin/castscope";

// What a container's process needs of `variables`, which were made for this machine, and what has to be mounted for it.
// What this machine's LD_PRELOAD and PYTHONPATH name besides castscope is left out: it is not there. CASTSCOPE_OUT is
// set; it is in the folder that is mounted writable.
struct ForContainer {
  Variables variables;
  std::vector<Mount> mounts;
};
ForContainer for_container(const Variables& variables, const std::string& cache_folder, const std::string& program,
                           const std::string& output_folder);

}  // namespace castscope::cli
