// The file of one run, NAME.castscope: an SQLite database (docs/run-file.md), written here.
//
// Counts are exact and stay for ever; steps that do the same are one row; packed event blocks stay for a bounded
// window, or all of them. While the run goes on, other connections may read (WAL); close() leaves one clean file.
// All functions may be called from any thread, one at a time. A disk that fails, or is full, ends the file at its last
// commit, until reopen() succeeds.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/run/fingerprints.h"
#include "server/store/run/numbered.h"
#include "server/store/run/run_data.h"
#include "server/store/run/run_sink.h"
#include "server/store/write/store_options.h"

namespace castscope::store {

class RunStore final : public RunSink {
 public:
  static absl::StatusOr<std::unique_ptr<RunStore>> create(const std::string& path, const RunStart&,
                                                          const StoreOptions& = {});
  // Goes on with a file whose writer died, or was closed before the run had ended: processes and definitions may be
  // handed over again, counters and gauges are absolute, position() says where events go on.
  static absl::StatusOr<std::unique_ptr<RunStore>> resume(const std::string& path, const StoreOptions& = {});
  ~RunStore() override;  // closes; an error is lost: call close()

  // After a failure: forgets what was not committed, and goes on with the file as resume() does. If it fails, it may be
  // called again.
  absl::Status reopen();

  absl::Status process(const ProcessInfo&) override;
  absl::Status define(const std::string& key, const Definition&) override;
  absl::Status events(const std::string& key, const EventBlock&) override;
  absl::Status counters(const std::string& key, std::span<const CounterRow>) override;
  absl::Status lanes(const std::string& key, std::span<const LaneRow>) override;
  absl::Status gauges(const std::string& key, const Gauges&) override;
  absl::Status process_end(const std::string& key, ProcessEnd, int exit_status) override;
  absl::Status incomplete(IncompleteReason, const std::string& process, const std::string& sentence) override;
  absl::Status notice(const std::string& sentence) override;
  LanePosition position(const std::string& key, std::uint32_t lane) override;
  bool has_counter(const std::string& key, std::uint32_t lane, std::uint32_t site) override;
  EarlierLife earlier_life() override;
  absl::Status relay(const RelayState&) override;
  absl::Status commit() override;

  // The run-wide number of a process, or of what it defined; 0 = it was not handed over.
  std::uint32_t number(const std::string& key, Numbered what, std::uint32_t local = 0);
  absl::Status git_dirty(bool);  // of RunStart::git: known only a little later
  absl::Status finish(const RunEnd&);
  absl::Status set_findings(std::span<const Finding>);  // instead of those before
  absl::Status set_source(const SourceLines&);          // instead of those before
  absl::Status set_fingerprints(const Fingerprints&);   // of all sites, and of the findings that were set last
  // Grows when evidence that was handed over was committed; findings and source lines are not evidence. Thread-safe.
  std::uint64_t commits() const { return commits_.load(); }
  // Returns true if each process told that it ends. A process that vanished did not, nor one that may still run.
  absl::StatusOr<bool> every_process_ended();
  // The end that the file told when it was opened to be written on; nothing = it told none.
  const std::optional<RunEnd>& earlier_end() const;
  // The run as handed over so far (commits first).
  absl::StatusOr<RunData> read();
  // The file was moved or deleted while it was being written: nobody finds in its place what is written.
  bool has_moved();
  // All of it into a new file, and then as close().
  absl::Status close_elsewhere(const std::string& path);
  // Commits and leaves one file. The store takes nothing afterwards.
  absl::Status close();
  const std::string& path() const;

 private:
  class Impl;
  explicit RunStore(std::unique_ptr<Impl>);
  std::unique_ptr<Impl> impl_;
  std::atomic<std::uint64_t> commits_ = 0;
};

}  // namespace castscope::store
