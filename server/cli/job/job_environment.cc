#include "server/cli/job/job_environment.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/cli/toolkit/child.h"

namespace castscope::cli {
std::string variable(const char* name) {
  const char* value = getenv(name);
  return value != nullptr ? value : "";
}

namespace {

// Puts the library after those that are there; only once, even where an `eval "$(castscope env)"` is repeated.
std::string ld_preload_with(const std::string& library) {
  const std::string before = variable("LD_PRELOAD");
  const bool known = absl::StrContains(absl::StrCat(":", before, ":"), absl::StrCat(":", library, ":"));
  return absl::StrCat("LD_PRELOAD=", before, before.empty() || known ? "" : ":", known ? "" : library);
}

// Builds the agent, and returns the Python that was found.
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

std::string deep_problem(const std::string& text) {
  std::uint64_t every = 0;
  if (text == "always" || text == "never" || (absl::SimpleAtoi(text, &every) && every > 0)) return "";
  return absl::StrCat("it takes `always`, `never` or N for each Nth step, not `", text, "`");
}

bool fits_into_ld_preload(const std::string& path) { return path.find_first_of(": \t\n") == std::string::npos; }

std::vector<std::string> observing_variables(const std::vector<std::string>& command, const std::string& preload,
                                             const Say& say, bool lend) {
  const PythonInstall python = prepare_python(command, say);
  // Of a script (`sh train.sh`) nobody knows which Python it starts: one without the package can be among them.
  const bool has_package = python.has_castscope && !named_python(command).empty();
  std::vector<std::string> result = {
      ld_preload_with(preload),
      absl::StrCat("CASTSCOPE_BIN=", program_path()),
      absl::StrCat("CASTSCOPE_AGENTS=", agent_search_path()),
  };
  if (lend || !has_package) {
    for (std::string& variable : lent_package()) result.push_back(std::move(variable));
  }
  return result;
}

std::vector<std::string> lent_package() {
  const auto package = obtain_python_package();
  if (!package.ok()) return {};
  const std::string path = variable("PYTHONPATH");
  // Our folder comes first, so that no other sitecustomize hides ours; ours removes itself and runs the other one.
  if (absl::StartsWith(absl::StrCat(path, ":"), absl::StrCat(*package, ":"))) return {};
  return {absl::StrCat("PYTHONPATH=", *package, path.empty() ? "" : ":", path)};
}

Preparation prepare_job(const std::vector<std::string>& command, const Say& say, bool lend) {
  if (!variable("CASTSCOPE_OFF").empty() && variable("CASTSCOPE_OFF") != "0") {
    say("CASTSCOPE_OFF is set: the job runs unobserved");
    return {.variables = lent_package()};
  }
  absl::StatusOr<std::string> preload = obtain_preload(say);
  if (!preload.ok()) {
    say(absl::StrCat("the preload library cannot be built: ", preload.status().message(), "; the job runs unobserved"));
    return {.variables = lent_package()};
  }
  return {true, *preload, observing_variables(command, *preload, say, lend)};
}

std::vector<std::string> job_environment(Preparation prepared, const RunDirectory& directory, const Say& say) {
  if (!prepared.observed) return environment_with(prepared.variables);
  if (!fits_into_ld_preload(prepared.preload)) {
    const std::string path = directory.path() + "/libcastscope.so";
    if (symlink(prepared.preload.c_str(), path.c_str()) != 0) say(absl::StrCat(path, ": ", strerror(errno)));
    prepared.variables.push_back(ld_preload_with(path));  // in place of the existing one
    prepared.variables.erase(prepared.variables.begin());
  }
  prepared.variables.push_back(absl::StrCat("CASTSCOPE_RUN=", directory.path()));
  return environment_with(prepared.variables);
}

}  // namespace castscope::cli
