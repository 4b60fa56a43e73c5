// The job's environment variables that make castscope observe it.
#pragma once

#include <string>
#include <vector>

#include "server/cli/job/run_directory.h"
#include "server/cli/toolkit/cache_folder.h"

namespace castscope::cli {

// Returns the variable by which a job's Python finds the package castscope, where it has none of its own; nothing when
// the package cannot be written to the cache. A script may import it, whether or not the job is observed.
std::vector<std::string> lent_package();

// The variables NAME=VALUE by which a command is observed, without its run directory.
struct Preparation {
  bool is_preloaded = false;  // LD_PRELOAD is among the variables
  // Why the processes of the Python that the command names will not be observed, or no process will; "" where nothing
  // speaks against it, as far as it is known before the job starts. It has not been said.
  std::string unobserved_why = {};
  std::vector<std::string> variables = {};
};
// Puts everything in its place that the command needs to be observed. It may take a minute, when an agent has to be
// built.
struct Wanted {
  bool lend = false;          // our sitecustomize, even where the job's Python has the package castscope
  bool given_agents = false;  // the agents of CASTSCOPE_AGENTS and no others: for their self-test
};
Preparation prepare_job(const std::vector<std::string>& command, const Say& say, const Wanted& wanted);

// Returns the variable of castscope's own environment, or "" if it is not set.
std::string variable(const char* name);

// Returns the whole environment of a `castscope run` job.
std::vector<std::string> job_environment(Preparation prepared, const RunDirectory& directory);

// Checks the answer to the question which steps are deep (docs/decisions/deep-steps.md). Returns what is wrong; "" =
// nothing.
std::string deep_problem(const std::string& text);

}  // namespace castscope::cli
