#include "server/cli/recording/live_findings.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/report/findings/fingerprint.h"
#include "server/report/text/words.h"

namespace castscope::cli {

LiveFindings::LiveFindings(std::shared_ptr<judging::RunJudge> judge, LiveFindingsPace pace)
    : judge_(std::move(judge)), pace_(pace), thread_([this] { judge_until_stopped(); }) {}

LiveFindings::~LiveFindings() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

std::vector<store::Finding> LiveFindings::take_new() {
  const std::lock_guard lock(mutex_);
  return std::exchange(fresh_, {});
}

void LiveFindings::judge_until_stopped() {
  std::uint64_t seen = 0;
  std::chrono::nanoseconds pause = pace_.least_pause;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, pause, [this] { return stopped_; })) {
    const std::uint64_t now = judge_->evidence();
    if (now == seen) continue;
    seen = now;
    lock.unlock();
    const auto begin = std::chrono::steady_clock::now();
    judge();
    pause =
        std::max<std::chrono::nanoseconds>(pace_.least_pause, pace_.share * (std::chrono::steady_clock::now() - begin));
    lock.lock();
  }
}

void LiveFindings::judge() {
  const absl::StatusOr<judging::JudgedRunPtr> run = judge_->judge();
  if (!run.ok()) return;  // the last judgement at the run's end reports any error
  const store::RunData& data = (*run)->data;
  const std::vector<store::Finding>& findings = (*run)->judgement.findings;
  if (judge_->store().set_findings(findings).ok()) (void)judge_->store().commit();
  const std::vector<std::string> prints = report::fingerprints(findings, data.source, data.start.project());
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < prints.size(); ++i) {
    if (told_.insert(prints[i]).second) fresh_.push_back(findings[i]);
  }
}

std::string one_line_of(const store::Finding& finding, const std::string& run_folder) {
  const std::string at = finding.location ? absl::StrCat(report::portable_path(finding.location->file, run_folder), ":",
                                                         finding.location->line)
                                          : "no Python line";
  return report::on_one_line(absl::StrCat(finding.severity, " ", finding.rule, " ", at, ": ", finding.title));
}

}  // namespace castscope::cli
