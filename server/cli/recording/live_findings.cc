#include "server/cli/recording/live_findings.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/report/findings/fingerprint.h"
#include "server/report/findings/source_reader.h"
#include "server/report/text/words.h"
#include "server/rules/judgement.h"
#include "server/rules/rules.h"
#include "server/store/read/run_reader.h"

namespace castscope::cli {

LiveFindings::LiveFindings(std::shared_ptr<store::RunStore> store, LiveFindingsOptions options)
    : store_(std::move(store)), options_(std::move(options)), thread_([this] { judge_until_stopped(); }) {}

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
  std::chrono::nanoseconds pause = options_.least_pause;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, pause, [this] { return stopped_; })) {
    const std::uint64_t now = options_.evidence();
    if (now == seen) continue;
    seen = now;
    lock.unlock();
    const auto begin = std::chrono::steady_clock::now();
    judge();
    pause = std::max<std::chrono::nanoseconds>(options_.least_pause,
                                               options_.share * (std::chrono::steady_clock::now() - begin));
    lock.lock();
  }
}

// By a connection of its own, beside the one that writes: the job's evidence does not wait for this.
void LiveFindings::judge() {
  absl::StatusOr<store::RunData> data = store::read_run(store_->path());
  if (!data.ok()) return;  // the end of the run has the last word, and the sentence
  std::vector<store::Finding> all = rules::judge(*data, options_.settings);
  if (options_.sources_here && !all.empty()) data->source = report::read_source(*data, all);
  const rules::Judgement judgement =
      rules::sort_out(std::move(all), options_.settings, data->source, data->start.project());
  if (store_->set_findings(judgement.findings).ok()) (void)store_->commit();
  const std::vector<std::string> prints = report::fingerprints(judgement.findings, data->source, data->start.project());
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < prints.size(); ++i) {
    if (told_.insert(prints[i]).second) fresh_.push_back(judgement.findings[i]);
  }
}

std::string one_line_of(const store::Finding& finding, const std::string& run_folder) {
  const std::string at = finding.location ? absl::StrCat(report::portable_path(finding.location->file, run_folder), ":",
                                                         finding.location->line)
                                          : "no Python line";
  return report::on_one_line(absl::StrCat(finding.severity, " ", finding.rule, " ", at, ": ", finding.title));
}

}  // namespace castscope::cli
