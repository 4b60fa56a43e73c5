// A run that is being recorded here: everything goes to the store first, and its events then into memory, where the
// viewer sees them. The snapshot, which is read and judged from the store, follows a little later in a thread of its
// own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "server/judging/run_judge.h"
#include "server/web/runs/live_numbers.h"
#include "server/web/runs/run_source.h"

namespace castscope::web {

struct LiveRunOptions {
  bool sources_here = false;  // the job runs on this machine
  timeline::Budget budget = {};
  // Reading and judging may take a fiftieth of the time: after 50 ms of work the next one comes 2.5 s later at the
  // earliest.
  std::chrono::milliseconds least_pause{1000};
  int share = 50;
};

class LiveRun final : public RunSource, public store::RunSink {
 public:
  // `goes_on` means that the file holds an earlier part of the run, which is read first.
  static std::shared_ptr<LiveRun> begin(std::string id, std::shared_ptr<judging::RunJudge> judge, store::RunStart start,
                                        bool goes_on, LiveRunOptions options);
  ~LiveRun() override;
  // Tells the run that no more will come and that the file is closed: the job ended, or its end is unknown. `last` is
  // the run as it was judged then; null if judging failed.
  void concluded(RunState state, judging::JudgedRunPtr last);

  // ---- for the recorder: store::RunSink
  absl::Status process(const store::ProcessInfo&) override;
  absl::Status define(const std::string& key, const store::Definition&) override;
  absl::Status events(const std::string& key, const store::EventBlock&) override;
  absl::Status counters(const std::string& key, std::span<const store::CounterRow>) override;
  absl::Status lanes(const std::string& key, std::span<const store::LaneRow>) override;
  absl::Status gauges(const std::string& key, const store::Gauges&) override;
  absl::Status process_end(const std::string& key, store::ProcessEnd, int exit_status) override;
  absl::Status incomplete(store::IncompleteReason, const std::string& process, const std::string& sentence) override;
  absl::Status notice(const std::string& sentence) override;
  store::LanePosition position(const std::string& key, std::uint32_t lane) override;
  bool has_counter(const std::string& key, std::uint32_t lane, std::uint32_t site) override;
  store::EarlierLife earlier_life() override;
  absl::Status relay(const store::RelayState&) override;
  absl::Status commit() override;

  // ---- for the viewer: RunSource
  RunState state() const override;
  bool is_gone() const override;
  absl::StatusOr<RunSummary> summary() const override;
  absl::StatusOr<SnapshotPtr> snapshot() override;
  SnapshotPtr known_snapshot() const override {
    const std::lock_guard lock(mutex_);
    return snapshot_;
  }
  std::shared_ptr<const timeline::Timeline> timeline() override { return timeline_; }
  bool sources_here() const override { return options_.sources_here; }
  const rules::Settings& settings() const override { return judge_->settings(); }

 private:
  LiveRun(std::string id, std::shared_ptr<judging::RunJudge> judge, store::RunStart start, LiveRunOptions options);
  absl::Status taken(absl::Status status, const std::function<void()>& then);
  void refresh();
  void refresh_until_stopped();

  const std::shared_ptr<judging::RunJudge> judge_;
  store::RunStore* const store_;  // the judge's
  const store::RunStart start_;
  const LiveRunOptions options_;
  const FileIdentity identity_;
  const std::shared_ptr<timeline::Timeline> timeline_;
  LiveNumbers numbers_;
  std::atomic<RunState> state_ = RunState::kLive;
  std::mutex refreshing_;  // only one thread refreshes at a time
  std::uint64_t judgements_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  SnapshotPtr snapshot_;
  judging::JudgedRunPtr last_;            // for a run that is over
  std::uint64_t commits_ = 1, seen_ = 0;  // changes that can be read, and those in the snapshot
  bool asked_ = false, stopped_ = false;
  std::thread thread_;
};

}  // namespace castscope::web
