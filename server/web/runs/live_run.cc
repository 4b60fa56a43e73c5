#include "server/web/runs/live_run.h"

#include <algorithm>
#include <new>

#include "server/store/read/run_reader.h"
#include "server/timeline/file_loader.h"

namespace castscope::web {

std::shared_ptr<LiveRun> LiveRun::begin(std::string id, std::shared_ptr<judging::RunJudge> judge, store::RunStart start,
                                        bool goes_on, LiveRunOptions options) {
  std::shared_ptr<LiveRun> run(new LiveRun(std::move(id), std::move(judge), std::move(start), std::move(options)));
  if (goes_on) {
    if (const auto before = store::read_run(run->file()); before.ok())
      (void)timeline::load(run->file(), *before, *run->timeline_, [](double) { return absl::OkStatus(); });
  }
  return run;
}

LiveRun::LiveRun(std::string id, std::shared_ptr<judging::RunJudge> judge, store::RunStart start,
                 LiveRunOptions options)
    : RunSource(std::move(id), judge->store().path()),
      judge_(std::move(judge)),
      store_(&judge_->store()),
      start_(std::move(start)),
      options_(std::move(options)),
      identity_(file()),
      timeline_(std::make_shared<timeline::Timeline>(options_.budget)),
      numbers_(*store_),
      thread_([this] { refresh_until_stopped(); }) {}

LiveRun::~LiveRun() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void LiveRun::concluded(RunState state, judging::JudgedRunPtr last) {
  timeline_->end();
  const std::lock_guard lock(mutex_);
  last_ = std::move(last);
  state_ = state;
  ++commits_;
  wake_.notify_all();
}

// ---- for the recorder

absl::Status LiveRun::taken(absl::Status status, const std::function<void()>& then) {
  if (status.ok()) then();
  return status;
}

absl::Status LiveRun::process(const store::ProcessInfo& info) {
  return taken(store_->process(info), [&] {
    timeline_->process_begin(numbers_.process(info.key),
                             static_cast<std::int64_t>(static_cast<std::uint64_t>(info.begin_realtime_ns) -
                                                       static_cast<std::uint64_t>(start_.start_ns)));
  });
}
absl::Status LiveRun::define(const std::string& key, const store::Definition& definition) {
  return taken(store_->define(key, definition),
               [&] { std::visit([&](const auto& one) { numbers_.define(key, one); }, definition); });
}
absl::Status LiveRun::events(const std::string& key, const store::EventBlock& block) {
  return taken(store_->events(key, block),
               [&] { timeline_->feed(numbers_, numbers_.process(key), block.lane, block.events); });
}
absl::Status LiveRun::counters(const std::string& key, std::span<const store::CounterRow> rows) {
  return store_->counters(key, rows);
}
absl::Status LiveRun::lanes(const std::string& key, std::span<const store::LaneRow> rows) {
  return store_->lanes(key, rows);
}
absl::Status LiveRun::gauges(const std::string& key, const store::Gauges& gauges) {
  return store_->gauges(key, gauges);
}
absl::Status LiveRun::process_end(const std::string& key, store::ProcessEnd end, int exit_status) {
  return taken(store_->process_end(key, end, exit_status), [&] { timeline_->end(numbers_.process(key)); });
}
absl::Status LiveRun::incomplete(store::IncompleteReason reason, const std::string& process,
                                 const std::string& sentence) {
  return store_->incomplete(reason, process, sentence);
}
absl::Status LiveRun::notice(const std::string& sentence) { return store_->notice(sentence); }
store::LanePosition LiveRun::position(const std::string& key, std::uint32_t lane) {
  return store_->position(key, lane);
}
bool LiveRun::has_counter(const std::string& key, std::uint32_t lane, std::uint32_t site) {
  return store_->has_counter(key, lane, site);
}
store::EarlierLife LiveRun::earlier_life() { return store_->earlier_life(); }
absl::Status LiveRun::relay(const store::RelayState& state) { return store_->relay(state); }
absl::Status LiveRun::commit() {
  return taken(store_->commit(), [&] {
    timeline_->settle();
    const std::lock_guard lock(mutex_);
    ++commits_;
    wake_.notify_all();
  });
}

// ---- for the viewer

RunState LiveRun::state() const {
  const RunState state = state_;
  return identity_.still_there(file()) ? state : RunState::kGone;
}

bool LiveRun::is_gone() const { return state_ != RunState::kLive && !identity_.still_there(file()); }

absl::StatusOr<RunSummary> LiveRun::summary() const {
  const std::lock_guard lock(mutex_);
  RunSummary summary{.start = start_, .end = {}, .events = timeline_->progress().events};
  // Nobody may have asked for a snapshot since the run has ended.
  const judging::JudgedRunPtr& newest = last_ != nullptr || snapshot_ == nullptr ? last_ : snapshot_->run();
  if (newest != nullptr) summary.end = newest->data.end;
  return summary;
}

absl::StatusOr<SnapshotPtr> LiveRun::snapshot() {
  {
    const std::lock_guard lock(mutex_);
    asked_ = true;
    if (seen_ != commits_) wake_.notify_all();
    const bool is_the_last = state_ != RunState::kLive;
    if (snapshot_ != nullptr && !(is_the_last && seen_ != commits_)) return snapshot_;
  }
  refresh();  // the first request waits, and the first one after the end does too
  const std::lock_guard lock(mutex_);
  if (snapshot_ != nullptr) return snapshot_;
  return absl::UnavailableError("the run cannot be read yet");
}

void LiveRun::refresh() {
  const std::lock_guard one(refreshing_);
  std::uint64_t commits = 0;
  judging::JudgedRunPtr run;
  SnapshotPtr shown;
  {
    const std::lock_guard lock(mutex_);
    if (seen_ == commits_) return;  // another thread has just done it
    commits = commits_;
    run = last_;
    shown = snapshot_;
  }
  if (run == nullptr) {
    const auto judged = judge_->judge();
    if (judged.ok()) run = *judged;
  }
  if (run != nullptr && (shown == nullptr || shown->run() != run))
    shown = std::make_shared<const Snapshot>(std::move(run), ++judgements_);
  const std::lock_guard lock(mutex_);
  seen_ = commits;
  snapshot_ = std::move(shown);
}

void LiveRun::refresh_until_stopped() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopped_ || (asked_ && seen_ != commits_); });
    if (stopped_) return;
    asked_ = false;
    lock.unlock();
    const auto begin = std::chrono::steady_clock::now();
    try {
      refresh();
    } catch (const std::bad_alloc&) {  // the next commit makes the run new again
    }
    const auto took = std::chrono::steady_clock::now() - begin;
    lock.lock();
    const auto pause = std::max<std::chrono::nanoseconds>(options_.least_pause, options_.share * took);
    if (wake_.wait_for(lock, pause, [this] { return stopped_; })) return;
  }
}

}  // namespace castscope::web
