// Reads and judges a run that is being recorded, for everyone who reports about it meanwhile: the viewer, live
// findings, a collector's log. All functions may be called from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "server/judging/judged_run.h"
#include "server/store/write/run_store.h"

namespace castscope::judging {

class RunJudge {
 public:
  // With kFromDisk, lines of code are read from the disk as long as the run file has none, and shown as `shown` says.
  RunJudge(std::shared_ptr<store::RunStore> store, rules::Settings settings, Lines lines = Lines::kAsKept,
           ShownLine shown = without_secrets);

  // A number that grows when there is something new to judge.
  std::uint64_t evidence() const { return store_->commits(); }
  // Returns the run as committed so far: the same object as before while nothing new was committed. Otherwise the run
  // is read over a connection of its own, so that recording does not wait. Only one thread judges at a time; others
  // wait and share the result.
  absl::StatusOr<JudgedRunPtr> judge();

  store::RunStore& store() const { return *store_; }
  const rules::Settings& settings() const { return settings_; }

 private:
  absl::StatusOr<store::RunData> read() const;

  const std::shared_ptr<store::RunStore> store_;
  const rules::Settings settings_;
  const Lines lines_;
  const ShownLine shown_;
  std::mutex mutex_;
  JudgedRunPtr last_;
  std::uint64_t judged_ = 0;  // evidence() of `last_`
};

}  // namespace castscope::judging
