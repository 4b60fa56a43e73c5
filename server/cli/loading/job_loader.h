// Which dynamic loader starts a command: the job's glibc is that loader's, which need not be this machine's.
#pragma once

#include <string>
#include <vector>

namespace castscope::cli {

struct JobLoader {
  std::string path;     // "" when the command's own program has none, and there is none where it usually lies
  std::string problem;  // why no library of ours can be loaded into it; "" = nothing is known against it
};

// Follows #! lines to the program that is started.
JobLoader loader_of(const std::vector<std::string>& command);

}  // namespace castscope::cli
