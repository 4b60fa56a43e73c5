// The runs of a collector, one file each, from the first relay's hello to the report.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/cli/recording/collector_folder.h"
#include "server/cli/recording/findings_log.h"
#include "server/cli/recording/output_claim.h"
#include "server/cli/serving/heading_index.h"
#include "server/cli/serving/metrics.h"
#include "server/cli/serving/quota_keeper.h"
#include "server/cli/serving/retention.h"
#include "server/cli/serving/serve_config.h"
#include "server/ingest/run/run_keeper.h"
#include "server/store/write/run_store.h"
#include "server/web/runs/live_run.h"
#include "server/web/runs/runs.h"

namespace castscope::cli {

class RunShelf {
 public:
  using Clock = std::chrono::steady_clock;
  // `viewed` holds the runs that the viewer shows; null = there is no viewer. `metrics` outlives the shelf.
  RunShelf(const ServeConfig& config, std::shared_ptr<web::Runs> viewed, Metrics* metrics);
  // `folder_is_ours` says before each run that begins whether it may: the folder may be another collector's by then.
  void ask_before_runs(std::function<absl::Status()> folder_is_ours) { folder_is_ours_ = std::move(folder_is_ours); }

  // What ingest calls.
  ingest::RunKeeper keeper();
  // The collector's tokens are these now, and their quotas hold for open runs, too.
  void change_tokens(const admission::Tokens& tokens) { quotas_.change(tokens); }

  // Returns a function that reads the heading of a run file in the folder, from the index if that knows it. The
  // function may be called after the shelf is gone.
  store::ReadHeading read_heading() const;
  // Reads which runs the folder holds, unless that is known; a relay that comes before that waits for it. Returns a
  // sentence about each file that could not be read, or is not taken.
  std::vector<std::string> look_into_folder();
  bool knows_folder() const { return knows_folder_; }
  // Runs that an earlier collector left open. A run that another castscope writes is not among them.
  std::vector<ingest::RunOpening> left_open();
  // Runs that had ended and could not be closed since the last call: on a full disk, say.
  std::vector<ingest::RunOpening> take_unconcluded();
  // Says of each run that met trouble whether it has passed. It should be called now and then.
  void look_after_troubles();
  // Says of each open run whose file was moved or deleted that it was, once. It should be called now and then.
  void look_after_files();
  // Notes what the files of runs say that ended before the last call, for the next collector on this folder.
  void note_ended();
  // Removes finished runs, as retention.h says. `now_ns`: since 1970. One thread calls it.
  void remove_what_is_over(const Retention& kept, std::int64_t now_ns);

  // Runs that would be closed later than that stay open. They are committed, and the next collector goes on with them.
  void leave_open_after(Clock::time_point time) { closes_until_ = time; }
  bool leaves_open() const { return Clock::now() >= closes_until_.load(); }
  std::size_t left() const { return left_; }
  std::size_t open_runs() const;
  // Why the last run that was to begin could not: its file could not be made. "" = it could, or that was more than a
  // minute ago: whoever asks may send no runs here until the answer is "".
  static constexpr std::chrono::minutes kNoneBegins{1};
  std::string why_none_begins(Clock::time_point now = Clock::now()) const;

 private:
  struct Open {
    std::shared_ptr<store::RunStore> store;
    std::shared_ptr<web::LiveRun> shown;  // the sink in front of the store; null without a viewer
    Output output;
    std::shared_ptr<OutputClaim> claim;  // no other castscope writes the file
    ingest::RunOpening run = {};
    web::FileIdentity file;
    bool told_moved = false;
  };

  CollectorFolder& folder();
  absl::StatusOr<std::shared_ptr<store::RunSink>> open(const ingest::RunOpening& run);
  absl::StatusOr<std::shared_ptr<store::RunSink>> reopen(const std::string& id, const Open& entry);
  void note_beginning(bool known, const absl::Status& status);
  absl::Status leaves_some(const std::string& sender) const;
  std::shared_ptr<store::RunSink> show(Open& entry, const std::shared_ptr<judging::RunJudge>& judge, bool known);
  void let_in(const ingest::RunOpening& run);
  void goes_on(const std::string& id);
  void give_up(const std::string& id, const absl::Status& why);
  void close(const std::string& id, const ingest::RunClosing& closing);
  void conclude_run(const Open& entry, const ingest::RunClosing& closing);
  void conclude_shown(const Open& entry, web::RunState state, judging::JudgedRunPtr last);
  bool watched(const std::string& id);
  absl::Status cannot_be_kept(const std::string& id, const absl::Status& why);
  std::uint64_t bytes_of(const std::string& id) const;

  const std::string path_;
  const std::shared_ptr<HeadingIndex> headings_;
  std::function<absl::Status()> folder_is_ours_ = [] { return absl::OkStatus(); };
  std::optional<CollectorFolder> folder_;  // nothing until somebody asks for it
  std::atomic<bool> knows_folder_ = false;
  const store::StoreOptions kept_;
  const std::shared_ptr<web::Runs> viewed_;
  Metrics* const metrics_;
  mutable std::mutex mutex_;
  std::map<std::string, Open> open_;
  std::map<std::string, std::uint64_t> troubles_;  // by run that cannot be kept: the commits of its store by then
  std::deque<std::shared_ptr<web::LiveRun>> concluded_;
  std::vector<ingest::RunOpening> unconcluded_;
  std::vector<std::string> ended_, ended_before_;  // files of runs that ended since the last look, and before it
  std::atomic<Clock::time_point> closes_until_ = Clock::time_point::max();
  std::atomic<std::size_t> left_ = 0;
  // A separate one: requests and answers do not wait for a run that is being opened.
  mutable std::mutex live_mutex_;
  std::map<std::string, std::shared_ptr<web::LiveRun>> live_;
  std::map<std::string, std::string> files_;  // of open runs
  std::string why_none_begins_;               // guarded by live_mutex_
  Clock::time_point none_began_at_{};         // guarded by live_mutex_
  SendersOfFiles senders_;                    // of files, for remove_what_is_over() alone
  QuotaKeeper quotas_;
  FindingsLog findings_;
};

}  // namespace castscope::cli
