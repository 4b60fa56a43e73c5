// castscope counts: what a process of a running job has cast so far. The pytest plugin calls it before and after a
// test's body.
#include <memory>
#include <nlohmann/json.hpp>

#include "server/cli/commands/commands.h"
#include "server/relay/live_counts.h"
#include "server/report/text/document.h"

namespace castscope::cli {

void add_counts(CommandLine& line) {
  const Command command = line.subcommand("counts", "Say what a process of a running job has cast so far").hidden();
  auto directory = std::make_shared<std::string>();
  auto pid = std::make_shared<pid_t>();
  command.option("DIRECTORY", *directory, "The run directory: CASTSCOPE_RUN of the job's processes").required();
  command.option("PID", *pid, "The process").required();
  command.on_run([directory, pid] {
    const auto counts = relay::live_counts(*directory, *pid);
    if (!counts.ok()) {
      say(std::string(counts.status().message()));
      return kIncompleteData;
    }
    const auto json = report::document(report::kCountsForm, {{"casts", counts->casts},
                                                             {"cache_hits", counts->hits},
                                                             {"pass_throughs", counts->passes},
                                                             {"traced", counts->traced},
                                                             {"bytes", counts->bytes}});
    return put(json.dump() + "\n") ? 0 : kIncompleteData;
  });
}

}  // namespace castscope::cli
