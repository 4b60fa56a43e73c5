// What the job's environment gets so that it is observed.
#pragma once

#include <string>
#include <vector>

#include "server/cli/job/run_directory.h"
#include "server/cli/toolkit/toolkit.h"

namespace castscope::cli {

// The variables NAME=VALUE that make a command observed. Builds what is missing; says what cannot be had, and leaves
// it out. `preload` is the library as LD_PRELOAD can name it. `lend`: our sitecustomize is wanted even where the job's
// Python has the package castscope.
std::vector<std::string> observing_variables(const std::vector<std::string>& command, const std::string& preload,
                                             const Say& say, bool lend = false);

// What a job of `castscope run` gets, but for its run directory. May take a minute, where an agent has to be built.
struct Preparation {
  bool observed = false;
  std::string preload;
  std::vector<std::string> variables;
};
Preparation prepare_job(const std::vector<std::string>& command, const Say& say, bool lend = false);

// Returns the variable of castscope's own environment, or "" if it is not set.
std::string variable(const char* name);

// The whole environment of a job of `castscope run`.
std::vector<std::string> job_environment(Preparation prepared, const RunDirectory& directory, const Say& say);

// What is wrong with this answer to the question which steps are deep (docs/decisions/deep-steps.md); "" = nothing.
std::string deep_problem(const std::string& text);

// LD_PRELOAD parts paths at colons and blanks and knows no quotes.
bool fits_into_ld_preload(const std::string& path);

}  // namespace castscope::cli
