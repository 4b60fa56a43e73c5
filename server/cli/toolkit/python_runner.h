// Programs that choose the Python of a command themselves: `uv run train.py` runs in the environment of the project.
#pragma once

#include <string>
#include <vector>

namespace castscope::cli {

// Returns the Python in which `uv run …` will run, as uv itself tells; "" where the command is no such one, or uv does
// not know. uv is asked once for each command. What it would install for the run is not installed for the question: an
// environment that is not there yet is not found.
std::string python_of_runner(const std::vector<std::string>& command);

}  // namespace castscope::cli
