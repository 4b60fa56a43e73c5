// Logs what `castscope serve` finds while runs go on: one thread judges the runs in turn and logs what is new
// (logged_findings.h). There may be many runs, and collecting comes first, so judging all of them together takes at
// most a fiftieth of the time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "server/cli/recording/logged_findings.h"
#include "server/judging/run_judge.h"

namespace castscope::cli {

struct FindingsLogOptions {
  std::function<void(const LogLine&)> log;
  std::chrono::milliseconds least_pause{3000};
  int share = 50;
};

class FindingsLog {
 public:
  explicit FindingsLog(FindingsLogOptions options);
  ~FindingsLog();

  void begin(const std::string& run_id, std::shared_ptr<judging::RunJudge> judge);
  // The run was closed: logs its final findings. A relay that comes back begins it anew.
  void end(const std::string& run_id, const judging::JudgedRun& run);

 private:
  struct Run {
    explicit Run(const std::string& id) : logged(id) {}
    std::mutex judging;
    std::shared_ptr<judging::RunJudge> judge;  // null: the run is closed
    std::uint64_t evidence = 0;                // at the last judgement
    LoggedFindings logged;
  };
  void judge_until_stopped();
  void judge_all();
  void judge(Run& run);
  void log_findings(Run& run, const judging::JudgedRun& judged, bool last);
  std::map<std::string, std::shared_ptr<Run>> runs();

  const FindingsLogOptions options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::map<std::string, std::shared_ptr<Run>> runs_;
  // The oldest is first. The log lines of these runs are remembered, so that none is written again.
  std::deque<std::string> closed_;
  std::thread thread_;
};

}  // namespace castscope::cli
