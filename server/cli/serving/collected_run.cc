#include "server/cli/serving/collected_run.h"

#include "absl/strings/str_cat.h"
#include "server/cli/recording/recording.h"

namespace castscope::cli {

store::RunStart start_of(const ingest::RunOpening& run) {
  return {.run_id = run.id,
          .command = run.command,
          .cwd = run.cwd,
          .host = run.host,
          .castscope_version = run.castscope_version,
          .start_ns = run.begin_realtime_ns,
          .collected = true,
          .checkout = run.checkout,
          .owner = run.owner,
          .sender = run.sender,
          .source_withheld = run.no_source ? "all" : ""};
}

store::RunEnd end_of(const ingest::RunClosing& closing, store::RunStore& store) {
  if (closing.nothing_new && store.earlier_end()) return *store.earlier_end();
  store::RunEnd end{.end_ns = realtime_ns(),
                    .exit_status = {},
                    .signal = {},
                    .complete = closing.farewell && closing.unseen.empty(),
                    .unseen = closing.unseen};
  if (closing.signal > 0)
    end.signal = closing.signal;
  else if (closing.exit_status >= 0)
    end.exit_status = closing.exit_status;
  if (end.complete) end.complete = store.every_process_ended().value_or(false);
  return end;
}

std::string ending_of(const store::RunEnd& end) {
  if (end.signal) return absl::StrCat("; signal ", *end.signal, " ended the command");
  return end.exit_status ? absl::StrCat("; the command ended with exit status ", *end.exit_status) : "";
}

}  // namespace castscope::cli
