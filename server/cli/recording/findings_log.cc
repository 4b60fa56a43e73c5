#include "server/cli/recording/findings_log.h"

#include <algorithm>
#include <new>
#include <utility>

namespace castscope::cli {
namespace {

constexpr std::size_t kMostClosed = 256;

}  // namespace

FindingsLog::FindingsLog(FindingsLogOptions options)
    : options_(std::move(options)), thread_([this] { judge_until_stopped(); }) {}

FindingsLog::~FindingsLog() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void FindingsLog::begin(const std::string& run_id, std::shared_ptr<judging::RunJudge> judge) {
  std::shared_ptr<Run> run;
  {
    const std::lock_guard lock(mutex_);
    std::erase(closed_, run_id);
    std::shared_ptr<Run>& known = runs_[run_id];
    if (known == nullptr) known = std::make_shared<Run>(run_id);
    run = known;
  }
  const std::lock_guard judging(run->judging);
  run->judge = std::move(judge);
  run->evidence = 0;
}

void FindingsLog::end(const std::string& run_id, const judging::JudgedRun& judged) {
  std::shared_ptr<Run> run;
  {
    const std::lock_guard lock(mutex_);
    const auto found = runs_.find(run_id);
    if (found == runs_.end()) return;
    run = found->second;
    closed_.push_back(run_id);
    if (closed_.size() > kMostClosed) {
      runs_.erase(closed_.front());
      closed_.pop_front();
    }
  }
  const std::lock_guard judging(run->judging);
  run->judge = nullptr;
  log_findings(*run, judged, true);
}

std::map<std::string, std::shared_ptr<FindingsLog::Run>> FindingsLog::runs() {
  const std::lock_guard lock(mutex_);
  return runs_;
}

void FindingsLog::judge_until_stopped() {
  std::chrono::nanoseconds pause = options_.least_pause;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, pause, [this] { return stopped_; })) {
    lock.unlock();
    const auto begin = std::chrono::steady_clock::now();
    judge_all();
    pause = std::max<std::chrono::nanoseconds>(options_.least_pause,
                                               options_.share * (std::chrono::steady_clock::now() - begin));
    lock.lock();
  }
}

// Without memory for a run, it is judged at the next look: what it did not get to is still new then.
void FindingsLog::judge_all() {
  try {
    for (const auto& [id, run] : runs()) judge(*run);
  } catch (const std::bad_alloc&) {
  }
}

// Evidence that comes in meanwhile makes the run new again. A file that cannot be read is tried again as well, since
// its writer may be at work; the last judgement at the run's end reports any error.
void FindingsLog::judge(Run& run) {
  const std::lock_guard judging(run.judging);
  if (run.judge == nullptr) return;
  const std::uint64_t evidence = run.judge->evidence();
  if (evidence == run.evidence) return;
  const absl::StatusOr<judging::JudgedRunPtr> judged = run.judge->judge();
  if (!judged.ok()) return;
  log_findings(run, **judged, false);
  run.evidence = evidence;
}

void FindingsLog::log_findings(Run& run, const judging::JudgedRun& judged, bool last) {
  for (const LogLine& line : run.logged.new_lines(judged.data, judged.judgement.findings, last)) options_.log(line);
}

}  // namespace castscope::cli
