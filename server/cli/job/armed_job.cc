#include "server/cli/job/armed_job.h"

#include "server/cli/job/job_environment.h"

namespace castscope::cli {

bool is_armed_by_environment() {
  const std::string value = variable("CASTSCOPE_ARMED");
  return !value.empty() && value != "0" && variable("CASTSCOPE_ENFORCE").empty();
}

// A process gets its agent when it enters autocast after somebody has attached to it.
std::string why_unwatched(const RunDirectory& directory, bool somebody_attached) {
  if (!directory.attached().empty()) return "";
  if (!somebody_attached)
    return "the job was armed (by --armed or CASTSCOPE_ARMED), and nobody attached to it: `castscope attach PID` "
           "begins to watch it while it runs";
  if (!directory.unrecorded().empty()) return "";
  return "the job was armed (by --armed or CASTSCOPE_ARMED), somebody attached to it, and autocast was not used after "
         "that";
}

}  // namespace castscope::cli
