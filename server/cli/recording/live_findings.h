// Judges a run while it is being recorded, so that its file has findings before the job ends.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "server/judging/run_judge.h"

namespace castscope::cli {

// Judging may take a hundredth of the time: after 50 ms of work the next judgement comes 5 s later at the earliest.
struct LiveFindingsPace {
  std::chrono::milliseconds least_pause{3000};
  int share = 100;
};

class LiveFindings {
 public:
  explicit LiveFindings(std::shared_ptr<judging::RunJudge> judge, LiveFindingsPace pace = {});
  ~LiveFindings();  // stops; the run file keeps the last findings

  // Returns findings that the judgement before did not have; each is returned once.
  std::vector<store::Finding> take_new();

 private:
  void judge_until_stopped();
  void judge();

  const std::shared_ptr<judging::RunJudge> judge_;
  const LiveFindingsPace pace_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::vector<store::Finding> fresh_;
  std::set<std::string> told_;  // fingerprints
  std::thread thread_;
};

// "performance weight-cast-repeatedly train.py:12: title": a finding in one line.
std::string one_line_of(const store::Finding&, const std::string& run_folder);

}  // namespace castscope::cli
