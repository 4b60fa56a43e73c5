#include "server/cli/commands/run/run_end.h"

#include "absl/strings/str_cat.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/summary.h"

namespace castscope::cli {
namespace {

// Where no segment is left, and nothing waits on disk.
void say_what_was_not_taken(const std::string& collector, const RecordingResult& result) {
  const bool is_empty = result.relay.processes.empty();
  say(absl::StrCat("the collector at ", collector, " did not ", is_empty ? "receive" : "take the end of", " this run (",
                   result.problem, "); ",
                   is_empty ? "nothing was cast in it" : "nothing is left here that could be sent"));
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
  } else if (!collector.empty() && !result.relay.delivered && !directory.has_segments()) {
    say_what_was_not_taken(collector, result);
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
