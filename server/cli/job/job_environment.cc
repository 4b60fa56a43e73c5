#include "server/cli/job/job_environment.h"

#include <cstdint>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/cli/agents/agents.h"
#include "server/cli/job/ranks.h"
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

// Where the Python that the command runs has no agent, others of the job may have one. But no agent may be loaded that
// has not passed its self-test.
struct Prepared {
  PythonInstall python = {};
  std::string no_agent = {};   // why there is none
  std::string bad_agent = {};  // why the one that is there may not be loaded
};
Prepared prepare_python(const std::vector<std::string>& command, const std::string& glibc, const Say& say) {
  std::string executable = python_of(command);
  if (executable.empty()) return {};
  auto python = probe_python(executable);
  if (!python.ok()) return {};
  if (!python->torch_problem.empty()) say(absl::StrCat(python->torch_problem, ": `castscope doctor` tells more"));
  if (!python->torch) return {*python};
  auto agent = obtain_agent(*python, glibc, say);
  if (agent.ok()) return {*python};
  const bool exists = absl::IsFailedPrecondition(agent.status()) || absl::IsAborted(agent.status());
  const std::string why = absl::StrCat("the agent for PyTorch ", python->torch->version,
                                       exists ? " cannot be used: " : " cannot be built: ", agent.status().message());
  return {*python, exists ? "" : why, exists ? why : ""};
}

Preparation unobserved(const std::string& why) {
  return {.is_preloaded = false, .unobserved_why = why, .variables = lent_package()};
}

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
  const Trial trial = try_preload(*preload, loader_of(command));
  if (!trial.problem.empty())
    return unobserved(
        absl::StrCat("the preload library does not load into this job's processes (", trial.problem, ")"));
  const Prepared prepared = wanted.given_agents ? Prepared() : prepare_python(command, trial.glibc, say);
  if (!prepared.bad_agent.empty()) return unobserved(prepared.bad_agent);
  // Of a script (`sh train.sh`) nobody knows which Python it starts: one without the package can be among them, or one
  // that has another PyTorch.
  const bool is_named = !named_python(command).empty();
  if (!is_named && !prepared.no_agent.empty()) say(prepared.no_agent);
  Preparation result{.is_preloaded = true, .unobserved_why = is_named ? prepared.no_agent : ""};
  result.variables = {
      ld_preload_with(preload->library),
      absl::StrCat("CASTSCOPE_BIN=", program_path()),
      absl::StrCat("CASTSCOPE_AGENTS=",
                   wanted.given_agents ? variable("CASTSCOPE_AGENTS") : agent_search_path(trial.glibc)),
  };
  if (wanted.lend || !prepared.python.has_castscope || !is_named) {
    for (std::string& variable : lent_package()) result.variables.push_back(std::move(variable));
  }
  return result;
}

std::vector<std::string> job_environment(Preparation prepared, const RunDirectory& directory) {
  if (!prepared.is_preloaded) return environment_with(prepared.variables);
  prepared.variables.push_back(absl::StrCat("CASTSCOPE_RUN=", directory.path()));
  if (std::string one_rank = one_rank_variable(); !one_rank.empty()) prepared.variables.push_back(std::move(one_rank));
  return environment_with(prepared.variables);
}

}  // namespace castscope::cli
