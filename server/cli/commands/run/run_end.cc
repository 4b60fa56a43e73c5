#include "server/cli/commands/run/run_end.h"

#include "absl/strings/str_cat.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/summary.h"

namespace castscope::cli {
namespace {

void say_that_nothing_was_sent(const std::string& collector, const RecordingResult& result) {
  say(absl::StrCat("the collector at ", collector, " did not receive this run (", result.problem,
                   "); nothing was cast in it"));
}

}  // namespace

void report_end(const RunOptions& options, const RunDirectory& directory, const RecordingResult& result) {
  const std::string& collector = options.collector.address;
  if (!result.relay.spool.empty()) {
    say(absl::StrCat("the collector at ", collector, " did not take everything (", result.problem,
                     "): what it lacks is "
                     "kept in ",
                     result.relay.spool, ", and `castscope recover` sends it"));
    if (!directory.has_living_process()) directory.discard();
  } else if (!collector.empty() && !result.relay.delivered && result.relay.processes.empty() &&
             result.relay.missing.empty() && !directory.has_segments()) {
    say_that_nothing_was_sent(collector, result);
    directory.discard();
  } else if (!result.relay.delivered || (!result.problem.empty() && result.run == nullptr)) {
    std::string where = collector.empty() ? result.output.run_file() : absl::StrCat("the collector at ", collector);
    say(absl::StrCat("not everything reached ", where, result.problem.empty() ? "" : ": ", result.problem,
                     "; `castscope recover ", directory.path(), "` goes on with what is left"));
  } else {
    if (!result.problem.empty()) say(result.problem);
    directory.discard();
    if (!collector.empty()) say(absl::StrCat("the run is kept by the collector at ", collector));
  }
  const Output& output = result.output;
  if (result.run != nullptr) print_summary(*result.run, {output.run_file(), output.report_file()}, options.summary);
}

}  // namespace castscope::cli
