// Remembers which agents have passed their self-test, or failed it: with this PyTorch (an agent's name has the build of
// it) and this version of Python, whose frames it reads.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/cli/toolkit/cache_folder.h"
#include "server/cli/toolkit/python_probe.h"

namespace castscope::cli {

// Runs the self-test. OK = the agent has passed it. An error has a clause: FailedPrecondition = what differed; Aborted
// = why the test could not be made.
absl::Status test_agent(const std::string& agent, const PythonInstall& python, const Say& say);

// Remembers that the agent has passed. It may have lain elsewhere then.
void note_proof(const std::string& agent, const PythonInstall& python);

// Tests the agent, unless the result is known from before. `again`: also where it failed then.
absl::Status prove(const std::string& agent, const PythonInstall& python, const Say& say, bool again);

}  // namespace castscope::cli
