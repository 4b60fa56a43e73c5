// Whether the preload library loads into the job's processes. A preloaded library that asks for a newer glibc than
// there is ends every process before its first instruction, and one that cannot be mapped makes the loader print an
// error in each. So a trivial process tries it first, with the job's own loader and environment.
#pragma once

#include <string>

#include "server/cli/loading/job_loader.h"
#include "server/cli/toolkit/preload.h"

namespace castscope::cli {

struct Trial {
  std::string problem;  // "" when the library loads; else a clause that says why it does not
  std::string glibc;    // the version that the job's loader brings, "2.36"; "" when it is not known
};

// The environment is castscope's own, which is the job's. What else the job preloads is left out: it may write files,
// as a profiler does.
Trial try_preload(const Preload& preload, const JobLoader& loader);

}  // namespace castscope::cli
