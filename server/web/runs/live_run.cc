#include "server/web/runs/live_run.h"

#include <algorithm>

#include "server/store/read/run_reader.h"
#include "server/timeline/file_loader.h"

namespace castscope::web {

std::shared_ptr<LiveRun> LiveRun::begin(std::string id, std::shared_ptr<store::RunStore> store, store::RunStart start,
                                        bool goes_on, LiveRunOptions options) {
  std::shared_ptr<LiveRun> run(new LiveRun(std::move(id), std::move(store), std::move(start), std::move(options)));
  if (goes_on) {
    if (const auto before = store::read_run(run->file()); before.ok())
      (void)timeline::load(run->file(), *before, *run->timeline_, [](double) { return absl::OkStatus(); });
  }
  return run;
}

LiveRun::LiveRun(std::string id, std::shared_ptr<store::RunStore> store, store::RunStart start, LiveRunOptions options)
    : RunSource(std::move(id), store->path()),
      store_(std::move(store)),
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

void LiveRun::concluded(RunState state) {
  timeline_->end();
  const std::lock_guard lock(mutex_);
  state_ = state;
  ++commits_;
  wake_.notify_all();
}

// ---- of the recorder

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
absl::Status LiveRun::attribute(const std::string& key, const std::string& name, const std::string& value) {
  return store_->attribute(key, name, value);
}
absl::Status LiveRun::stack(const std::string& key, const store::StackInfo& stack) { return store_->stack(key, stack); }
absl::Status LiveRun::module(const std::string& key, const store::ModuleInfo& module) {
  return store_->module(key, module);
}
absl::Status LiveRun::call_site(const std::string& key, const store::CallSiteInfo& call_site) {
  return store_->call_site(key, call_site);
}
absl::Status LiveRun::region(const std::string& key, const store::RegionInfo& region) {
  return taken(store_->region(key, region), [&] { numbers_.region(key, region); });
}
absl::Status LiveRun::site(const std::string& key, const store::SiteInfo& site) {
  return taken(store_->site(key, site), [&] { numbers_.site(key, site); });
}
absl::Status LiveRun::operator_use(const std::string& key, const store::OperatorUseInfo& use) {
  return taken(store_->operator_use(key, use), [&] { numbers_.operator_use(key, use); });
}
absl::Status LiveRun::flow(const std::string& key, const store::FlowInfo& flow) { return store_->flow(key, flow); }
absl::Status LiveRun::fact(const std::string& key, const store::FactInfo& fact) {
  return taken(store_->fact(key, fact), [&] { numbers_.fact(key, fact); });
}
absl::Status LiveRun::kernel(const std::string& key, const store::KernelInfo& kernel) {
  return taken(store_->kernel(key, kernel), [&] { numbers_.kernel(key, kernel); });
}
absl::Status LiveRun::matmul(const std::string& key, const store::MatmulInfo& matmul) {
  return store_->matmul(key, matmul);
}
absl::Status LiveRun::thread(const std::string& key, const store::ThreadInfo& thread) {
  return store_->thread(key, thread);
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
store::LanePosition LiveRun::position(const std::string& key, std::uint32_t lane) {
  return store_->position(key, lane);
}
absl::Status LiveRun::commit() {
  return taken(store_->commit(), [&] {
    timeline_->settle();
    const std::lock_guard lock(mutex_);
    ++commits_;
    wake_.notify_all();
  });
}

// ---- of the viewer

RunState LiveRun::state() const {
  const RunState state = state_;
  return identity_.still_there(file()) ? state : RunState::kGone;
}

absl::StatusOr<RunSummary> LiveRun::summary() const {
  const std::lock_guard lock(mutex_);
  RunSummary summary{.start = start_, .end = {}, .events = timeline_->progress().events};
  if (snapshot_ != nullptr) summary.end = snapshot_->data().end;
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
  refresh();  // the first to ask waits, and the first to ask for how it ended
  const std::lock_guard lock(mutex_);
  if (snapshot_ != nullptr) return snapshot_;
  return absl::UnavailableError("the run cannot be read yet");
}

// By a connection of its own, beside the one that writes: recording does not wait for this. Only of a file that was
// deleted the writer alone can tell.
absl::StatusOr<store::RunData> LiveRun::read() const {
  auto data = store::read_run(file());
  return data.ok() ? std::move(data) : store_->read();
}

void LiveRun::refresh() {
  const std::lock_guard one(refreshing_);
  std::uint64_t commits = 0, number = 0;
  {
    const std::lock_guard lock(mutex_);
    if (seen_ == commits_) return;  // somebody else has just done it
    commits = commits_;
    number = ++judgements_;
  }
  auto data = read();
  SnapshotPtr fresh;
  if (data.ok()) {
    const bool read_lines = options_.sources_here && data->source.files().empty();
    fresh =
        std::make_shared<const Snapshot>(*std::move(data), options_.settings, number,
                                         read_lines ? Snapshot::SourceLines::kRead : Snapshot::SourceLines::kAsKept);
  }
  const std::lock_guard lock(mutex_);
  seen_ = commits;
  if (fresh != nullptr) snapshot_ = std::move(fresh);
}

void LiveRun::refresh_until_stopped() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopped_ || (asked_ && seen_ != commits_); });
    if (stopped_) return;
    asked_ = false;
    lock.unlock();
    const auto begin = std::chrono::steady_clock::now();
    refresh();
    const auto took = std::chrono::steady_clock::now() - begin;
    lock.lock();
    const auto pause = std::max<std::chrono::nanoseconds>(options_.least_pause, options_.share * took);
    if (wake_.wait_for(lock, pause, [this] { return stopped_; })) return;
  }
}

}  // namespace castscope::web
