// A run being recorded: relay → (in-process or network) → collector → run file and report. `castscope run`, `relay` and
// `recover` share this code.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/cli/attaching/control_socket.h"
#include "server/cli/job/job_end.h"
#include "server/cli/job/run_directory.h"
#include "server/cli/recording/collector_access.h"
#include "server/cli/recording/git_dirty.h"
#include "server/cli/recording/live_findings.h"
#include "server/cli/recording/output_name.h"
#include "server/cli/recording/withholding.h"
#include "server/ingest/server.h"
#include "server/judging/run_judge.h"
#include "server/relay/made_directory.h"
#include "server/relay/relay.h"
#include "server/relay/roll.h"
#include "server/relay/sending/connect.h"
#include "server/store/write/run_store.h"
#include "server/web/runs/live_run.h"
#include "server/web/runs/runs.h"

namespace castscope::cli {

// How long castscope waits for a collector after the job; recording.cc has the numbers.
inline constexpr char kCollectorPatience[] =
    "ten seconds at most: two if it has never answered, five after its last answer";

struct RecordingOptions {
  RunDirectory directory;
  RunRecord record;
  Output output;                    // for local collecting
  std::string deep = {}, gpu = {};  // as in store::RunStart
  bool at_start = false;            // the job has just begun: what Git says of the checkout is what the job began with
  bool overwrite = false;
  bool answers = false;    // people may ask something of the running job, at the run's socket
  bool resume = false;     // continue the existing run file
  pid_t main_process = 0;  // its end is the run's, where nobody waits for the job
  // For a run whose earlier record is not continued: the processes that it had. If any of them is not found, the run is
  // incomplete.
  std::optional<std::vector<pid_t>> expected = {};
  // Recording hands these to the relay (relay::Options), which finds out with them what is missing.
  std::shared_ptr<relay::MadeDirectory> made = {};
  std::shared_ptr<relay::Roll> roll = {};
  std::function<void(const std::string&)> say = {};
  pid_t child = 0;  // the same process if it is our child: relay().job_ended() will be called
  CollectorAddress collector;
  std::string sent_elsewhere =
      {};                      // a sentence where a part of the run went to a collector; the file is incomplete then
  bool relay_goes_on = false;  // the record's relay sent some of the run before
  rules::Settings settings = {};
  std::shared_ptr<web::Runs> viewed = {};  // the viewer adds the run to these; null = no viewer
};

struct RecordingResult {
  relay::Summary relay;
  bool complete = false;
  std::string problem;        // a sentence if the report is not as it should be
  std::string missing;        // a sentence about what was `expected` and is not there
  Output output;              // the place of the files
  judging::JudgedRunPtr run;  // for local collecting; null if it could not be kept
};

class Recording {
 public:
  static absl::StatusOr<std::unique_ptr<Recording>> begin(RecordingOptions options);
  ~Recording();

  relay::Relay& relay() { return *relay_; }
  // For texts that are cut or put together before the recording gets them.
  redaction::Redaction& redaction() const { return *redaction_; }
  bool was_asked_to_attach() const { return control_ != nullptr && control_->was_asked_to_attach(); }
  // For local collecting: returns the findings that came up since the last call.
  std::vector<store::Finding> new_findings();
  // Drains for the last time, closes the run file and writes the report. Without `end`, the main process's end counts.
  // `left`: processes of the job that go on unrecorded.
  RecordingResult finish(std::optional<JobEnd> end, std::vector<std::string> notices,
                         const std::vector<pid_t>& left = {});
  // Ends without a trace of the run: no farewell, no run file. For a job of which nothing was seen.
  void discard();

 private:
  explicit Recording(RecordingOptions options);
  store::RunStart start_of_run(const std::string& checkout) const;
  absl::Status open_store();
  absl::Status start_relay();
  void watch_findings();
  void listen_for_requests();
  void keep_missing(const std::vector<std::string>& sentences);
  void keep_what_is_known(const std::optional<JobEnd>& end, const relay::Summary& summary);
  void close_store(const std::optional<JobEnd>& end, const std::vector<std::string>& notices, RecordingResult& result);

  RecordingOptions options_;
  std::shared_ptr<store::RunStore> store_;
  std::shared_ptr<judging::RunJudge> judge_;
  std::shared_ptr<web::LiveRun> shown_;  // for the viewer: the sink in front of the store
  std::unique_ptr<ingest::Server> server_;
  std::unique_ptr<relay::Relay> relay_;
  std::unique_ptr<ControlServer> control_;  // for people who ask something of the running job
  std::unique_ptr<LiveFindings> live_;
  std::unique_ptr<GitDirty> dirty_;
  std::shared_ptr<redaction::Redaction> redaction_;  // of all that the run's file and its relay get to see
  const std::vector<std::string> missing_before_;    // sentences that an earlier recorder of the run has left
  bool said_that_it_keeps_nothing_ = false;
};

std::int64_t realtime_ns();
std::string host_name();

}  // namespace castscope::cli
