#include "server/cli/job/job_environment.h"

#include <cstdint>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/cli/agents/agents.h"
#include "server/cli/loading/job_loader.h"
#include "server/cli/loading/trial.h"
#include "server/cli/toolkit/child.h"
#include "server/cli/toolkit/preload.h"
#include "server/cli/toolkit/python_package.h"

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

// Builds the agent, and returns the Python that was found. An error says why no agent may be loaded into this job.
absl::StatusOr<PythonInstall> prepare_python(const std::vector<std::string>& command, const std::string& glibc,
                                             const Say& say) {
  std::string executable = python_of(command);
  if (executable.empty()) return PythonInstall();
  auto python = probe_python(executable);
  if (!python.ok()) return PythonInstall();
  if (!python->torch_problem.empty()) say(absl::StrCat(python->torch_problem, ": `castscope doctor` tells more"));
  if (!python->torch) return *python;
  auto agent = obtain_agent(*python, glibc, say);
  if (agent.ok()) return *python;
  const bool exists = absl::IsFailedPrecondition(agent.status()) || absl::IsAborted(agent.status());
  const std::string why = absl::StrCat("the agent for PyTorch ", python->torch->version,
                                       exists ? " cannot be used: " : " cannot be built: ", agent.status().message());
  if (exists) return absl::AbortedError(why);
  say(why);
  return *python;
}

Preparation unobserved(const std::string& why) { return {.unobserved_why = why, .variables = lent_package()}; }

}  // namespace

std::string deep_problem(const std::string& text) {
  std::uint64_t every = 0;
  if (text == "always" || text == "never" || (absl::SimpleAtoi(text, &every) && every > 0)) return "";
  return absl::StrCat("it takes `always`, `never` or N for each Nth step, not `", text, "`");
}

std::vector<std::string> lent_package() {
  const auto package = obtain_python_package();
  if (!package.ok()) return {};
  const std::string path = variable("PYTHONPATH");
  // Our folder comes first, so that no other sitecustomize hides ours; ours removes itself and runs the other one.
  if (absl::StartsWith(absl::StrCat(path, ":"), absl::StrCat(*package, ":"))) return {};
  return {absl::StrCat("PYTHONPATH=", *package, path.empty() ? "" : ":", path)};
}

Preparation prepare_job(const std::vector<std::string>& command, const Say& say, const Wanted& wanted) {
  if (!variable("CASTSCOPE_OFF").empty() && variable("CASTSCOPE_OFF") != "0") return unobserved("CASTSCOPE_OFF is set");
  const absl::StatusOr<Preload> preload = obtain_preload();
  if (!preload.ok())
    return unobserved(absl::StrCat("the preload library cannot be put in place: ", preload.status().message()));
  Preparation result{.variables = {ld_preload_with(preload->library)}};
  const Trial trial = try_preload(*preload, loader_of(command));
  if (!trial.problem.empty())
    return unobserved(
        absl::StrCat("the preload library does not load into this job's processes (", trial.problem, ")"));
  const absl::StatusOr<PythonInstall> python =
      wanted.given_agents ? PythonInstall() : prepare_python(command, trial.glibc, say);
  if (!python.ok()) return unobserved(std::string(python.status().message()));
  result.variables.push_back(absl::StrCat("CASTSCOPE_BIN=", program_path()));
  result.variables.push_back(absl::StrCat(
      "CASTSCOPE_AGENTS=", wanted.given_agents ? variable("CASTSCOPE_AGENTS") : agent_search_path(trial.glibc)));
  // Of a script (`sh train.sh`) nobody knows which Python it starts: one without the package can be among them.
  const bool has_package = python->has_castscope && !named_python(command).empty();
  if (wanted.lend || !has_package) {
    for (std::string& variable : lent_package()) result.variables.push_back(std::move(variable));
  }
  return result;
}

std::vector<std::string> job_environment(Preparation prepared, const RunDirectory& directory) {
  if (prepared.unobserved_why.empty()) prepared.variables.push_back(absl::StrCat("CASTSCOPE_RUN=", directory.path()));
  return environment_with(prepared.variables);
}

}  // namespace castscope::cli
