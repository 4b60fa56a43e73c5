// `castscope serve` says what it finds, while runs go on: one thread judges them in turn and logs what is new
// (findings_told.h). Runs are many and the collector's first work is to collect, so all of them together are judged in
// a fiftieth of the time.
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

#include "server/cli/recording/findings_told.h"
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
  // The run was closed: its findings as they are in the end. A relay that comes back begins it anew.
  void end(const std::string& run_id, const judging::JudgedRun& run);

 private:
  struct Run {
    explicit Run(const std::string& id) : told(id) {}
    std::mutex judging;
    std::shared_ptr<judging::RunJudge> judge;  // null: it is closed
    std::uint64_t evidence = 0;                // when it was last judged
    FindingsTold told;
  };
  void judge_until_stopped();
  void judge(Run& run);
  void say(Run& run, const judging::JudgedRun& judged, bool last);
  std::map<std::string, std::shared_ptr<Run>> runs();

  const FindingsLogOptions options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::map<std::string, std::shared_ptr<Run>> runs_;
  std::deque<std::string> closed_;  // in that order: what was told of the latest is kept, that it is not told again
  std::thread thread_;
};

}  // namespace castscope::cli
