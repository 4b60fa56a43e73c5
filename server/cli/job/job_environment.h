// The job's environment variables that make castscope observe it.
#pragma once

#include <string>
#include <vector>

#include "server/cli/job/run_directory.h"
#include "server/cli/toolkit/toolkit.h"

namespace castscope::cli {

// Returns the variables NAME=VALUE that make a command observed. Builds what is missing; if something cannot be had,
// says so and leaves it out. `preload` is the library under a path that LD_PRELOAD can hold. `lend`: our sitecustomize
// is wanted even where the job's Python has the package castscope.
std::vector<std::string> observing_variables(const std::vector<std::string>& command, const std::string& preload,
                                             const Say& say, bool lend = false);

// Returns the variable by which a job's Python finds the package castscope, where it has none of its own; nothing when
// the package cannot be written to the cache. A script may import it, whether or not the job is observed.
std::vector<std::string> lent_package();

// The variables of a `castscope run` job, without its run directory. May take a minute, when an agent has to be built.
struct Preparation {
  bool observed = false;
  std::string preload = {};
  std::vector<std::string> variables = {};
};
Preparation prepare_job(const std::vector<std::string>& command, const Say& say, bool lend = false);

// Returns the variable of castscope's own environment, or "" if it is not set.
std::string variable(const char* name);

// Returns the whole environment of a `castscope run` job.
std::vector<std::string> job_environment(Preparation prepared, const RunDirectory& directory, const Say& say);

// Checks the answer to the question which steps are deep (docs/decisions/deep-steps.md). Returns what is wrong; "" =
// nothing.
std::string deep_problem(const std::string& text);

// LD_PRELOAD separates paths by colons and blanks, and has no quotes.
bool fits_into_ld_preload(const std::string& path);

}  // namespace castscope::cli
