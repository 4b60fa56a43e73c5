// `castscope serve` from its settings to its end.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "server/admission/door.h"
#include "server/cli/serving/collector_lock.h"
#include "server/cli/serving/metrics.h"
#include "server/cli/serving/periodic_look.h"
#include "server/cli/serving/run_shelf.h"
#include "server/cli/serving/serve_config.h"
#include "server/cli/serving/serve_signals.h"
#include "server/cli/serving/tokens_file.h"
#include "server/ingest/server.h"
#include "server/web/http/http_server.h"
#include "server/web/viewer.h"

namespace castscope::cli {

class Daemon {
 public:
  // Listens: relays are let in as soon as it is known which runs the folder holds. To be called before any other thread
  // starts. The error is a sentence about what in the settings cannot be used.
  static absl::StatusOr<std::unique_ptr<Daemon>> start(const ServeConfig& config);
  ~Daemon();  // what was logged is written
  // The address of the viewer's page with its token; "" = there is none.
  std::string page() const { return viewer_ != nullptr ? viewer_->url() : ""; }
  // Reads which runs the folder holds, goes on with those that an earlier collector left open, and returns when a
  // signal has ended it. It may end the process itself.
  void run_until_stopped();

 private:
  explicit Daemon(const ServeConfig& config);
  absl::Status listen();
  absl::Status show_runs();
  absl::Status start_monitor();
  void tell_refused(const std::string& sentence);
  void listen_to_signals();
  void take_up_runs();
  void look_after_runs();
  void look_after_folder();
  struct FolderLook {
    std::string trouble;  // "" = nothing happened to the folder
    absl::Status ours;    // whether runs may begin in it
  };
  FolderLook look_at_folder();
  void apply_retention();
  void stop();
  std::string metrics_text() const;
  std::string trouble() const;

  const ServeConfig config_;
  ServeSignals signals_;
  Metrics metrics_;
  TokensFile tokens_;
  std::shared_ptr<admission::Door> door_;
  std::shared_ptr<ingest::Traffic> traffic_ = std::make_shared<ingest::Traffic>();
  mutable std::mutex lock_mutex_;
  std::unique_ptr<CollectorLock> lock_;  // guarded by lock_mutex_ once it is taken
  std::string folder_told_;              // what the log last said of the folder
  std::shared_ptr<web::Runs> runs_;      // null without a page
  std::unique_ptr<RunShelf> shelf_;
  std::unique_ptr<ingest::Server> server_;
  std::unique_ptr<web::Viewer> viewer_;
  std::unique_ptr<web::HttpServer> monitor_;
  std::atomic<bool> stopping_ = false, has_taken_up_ = false;
  std::atomic<int> refusals_told_ = 0;  // since the last look
  std::chrono::steady_clock::time_point retained_at_{};
  std::chrono::nanoseconds clock_offset_{};  // of the wall clock from the steady one, at the start
  bool clock_told_ = false;
  std::size_t lost_lines_ = 0;  // of the log, that were told
  // Not beside the tokens: a report may take minutes, and whose token was taken out does not send meanwhile.
  std::unique_ptr<PeriodicLook> look_after_runs_;  // last: it ends before what it looks after
};

}  // namespace castscope::cli
