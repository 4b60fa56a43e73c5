// A run being recorded: relay → (in-process or network) → collector → run file and report. What `castscope run`,
// `relay` and `recover` have in common.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/cli/job/job_end.h"
#include "server/cli/job/run_directory.h"
#include "server/cli/recording/live_findings.h"
#include "server/cli/recording/output_name.h"
#include "server/ingest/server.h"
#include "server/judging/run_judge.h"
#include "server/relay/connect.h"
#include "server/relay/relay.h"
#include "server/store/write/run_store.h"
#include "server/web/runs/live_run.h"
#include "server/web/runs/runs.h"

namespace castscope::cli {

// How long is waited for a collector after the job; recording.cc has the numbers.
inline constexpr char kCollectorPatience[] =
    "ten seconds at most: two when it has never answered, five after its last answer";

struct CollectorAddress {
  std::string address;  // "" = collect here, into `output`
  std::string token;
  relay::Tls tls;
};

struct RecordingOptions {
  RunDirectory directory;
  RunRecord record;
  Output output;          // of local collecting
  std::string deep = {};  // as in store::RunStart
  bool overwrite = false;
  bool resume = false;     // go on with the run file that is there
  pid_t main_process = 0;  // whose end is the run's, where nobody waits for the job
  // Of a run whose earlier record is not gone on with: processes it had. What is not found of them makes it incomplete.
  std::optional<std::vector<pid_t>> expected = {};
  pid_t child = 0;  // the same process where it is ours: relay().job_ended() is going to be called
  CollectorAddress collector;
  rules::Settings settings = {};
  std::shared_ptr<web::Runs> viewed = {};  // the viewer shows the run among these; null = there is none
};

struct RecordingResult {
  relay::Summary relay;
  bool complete = false;
  std::string problem;        // a sentence when the report is not what it should be
  std::string missing;        // a sentence about what was `expected` and is not there
  Output output;              // where it is
  judging::JudgedRunPtr run;  // of local collecting; null when it could not be kept
};

class Recording {
 public:
  static absl::StatusOr<std::unique_ptr<Recording>> begin(RecordingOptions options);
  ~Recording();

  relay::Relay& relay() { return *relay_; }
  // Of local collecting: findings that came up since the last call.
  std::vector<store::Finding> new_findings();
  // The last drain, the run file closed, the report written. Without `end`, that of the main process counts.
  // `left`: processes of the job that go on unrecorded.
  RecordingResult finish(std::optional<JobEnd> end, std::vector<std::string> notices,
                         const std::vector<pid_t>& left = {});

 private:
  explicit Recording(RecordingOptions options) : options_(std::move(options)) {}
  absl::Status open_store();
  absl::Status start_relay();
  void watch_findings();
  void close_store(const std::optional<JobEnd>& end, const std::vector<std::string>& notices, RecordingResult& result);

  RecordingOptions options_;
  std::shared_ptr<store::RunStore> store_;
  std::shared_ptr<judging::RunJudge> judge_;
  std::shared_ptr<web::LiveRun> shown_;  // where somebody may look: the sink in front of the store
  std::unique_ptr<ingest::Server> server_;
  std::unique_ptr<relay::Relay> relay_;
  std::unique_ptr<LiveFindings> live_;
};

struct Conclusion {
  judging::JudgedRunPtr run;  // never null
  Output output;
  std::string moved;  // a sentence when that is not where it was begun
};
// Reads the run, judges it, keeps what was found and closes the file: what remains to do with a store when its last
// word has been said. Writes the report beside it. A run file that was moved or deleted meanwhile is written anew,
// elsewhere if need be.
absl::StatusOr<Conclusion> conclude(store::RunStore& store, const store::RunEnd& end, const Output& output,
                                    judging::Lines lines, const rules::Settings& settings = {});

absl::Status write_text_file(const std::string& path, const std::string& text);

std::int64_t realtime_ns();
std::string host_name();

}  // namespace castscope::cli
