#include "server/cli/job_environment.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "server/cli/child.h"

namespace castscope::cli {
namespace {

std::string variable(const char* name) {
  const char* value = getenv(name);
  return value != nullptr ? value : "";
}

// Builds the agent, and tells of the Python that was found.
PythonInstall prepare_python(const std::vector<std::string>& command, const Say& say) {
  std::string executable = python_of(command);
  if (executable.empty()) return {};
  auto python = probe_python(executable);
  if (!python.ok()) return {};
  if (!python->torch_problem.empty()) say(absl::StrCat(python->torch_problem, ": `castscope doctor` tells more"));
  if (!python->torch) return *python;
  auto agent = obtain_agent(*python->torch, say);
  if (!agent.ok()) {
    say(absl::StrCat("the agent for PyTorch ", python->torch->version, " cannot be built: ", agent.status().message()));
  }
  return *python;
}

}  // namespace

bool fits_into_ld_preload(const std::string& path) { return path.find_first_of(": \t\n") == std::string::npos; }

std::vector<std::string> observing_variables(const std::vector<std::string>& command, const std::string& preload,
                                             const Say& say) {
  PythonInstall python = prepare_python(command, say);
  std::string before = variable("LD_PRELOAD");
  std::vector<std::string> result = {
      absl::StrCat("LD_PRELOAD=", before, before.empty() ? "" : ":", preload),
      absl::StrCat("CASTSCOPE_BIN=", program_path()),
      absl::StrCat("CASTSCOPE_AGENTS=", agent_search_path()),
  };
  if (!python.has_castscope) {
    auto package = obtain_python_package();
    std::string path = variable("PYTHONPATH");
    // First, so that no other sitecustomize hides ours; it takes itself off and makes way for the other.
    if (package.ok()) result.push_back(absl::StrCat("PYTHONPATH=", *package, path.empty() ? "" : ":", path));
  }
  return result;
}

std::vector<std::string> job_environment(const std::vector<std::string>& command, const RunDirectory& directory,
                                         const Say& say) {
  if (!variable("CASTSCOPE_OFF").empty() && variable("CASTSCOPE_OFF") != "0") {
    say("CASTSCOPE_OFF is set: the job runs unobserved");
    return environment_with({});
  }
  absl::StatusOr<std::string> preload = obtain_preload(say);
  if (!preload.ok()) {
    say(absl::StrCat("the preload library cannot be built: ", preload.status().message(), "; the job runs unobserved"));
    return environment_with({});
  }
  std::string path = *preload;
  if (!fits_into_ld_preload(path)) {
    path = directory.path() + "/libcastscope.so";
    if (symlink(preload->c_str(), path.c_str()) != 0) say(absl::StrCat(path, ": ", strerror(errno)));
  }
  std::vector<std::string> changes = observing_variables(command, path, say);
  changes.push_back(absl::StrCat("CASTSCOPE_RUN=", directory.path()));
  return environment_with(changes);
}

}  // namespace castscope::cli
