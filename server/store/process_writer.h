// Takes what one process of the run did, and writes it: numbers of the process become run-wide ones here.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/store/evidence_tracker.h"
#include "server/store/run_sink.h"
#include "server/store/run_tables.h"
#include "server/store/step_tracker.h"

namespace castscope::store {

class ProcessWriter {
 public:
  ProcessWriter(RunTables* tables, std::uint32_t id, std::string key)
      : tables_(tables), id_(id), key_(std::move(key)) {}
  absl::Status adopt(const Database&, const RunData&);

  absl::Status attribute(const std::string& name, const std::string& value);
  absl::Status stack(const StackInfo&);
  absl::Status module(const ModuleInfo&);
  absl::Status call_site(const CallSiteInfo&);
  absl::Status region(const RegionInfo&);
  absl::Status site(const SiteInfo&);
  absl::Status thread(const ThreadInfo&);
  absl::Status events(const EventBlock&);
  absl::Status counters(std::span<const CounterRow>);
  absl::Status lanes(std::span<const LaneRow>);
  absl::Status gauges(const Gauges&);
  absl::Status end(ProcessEnd, int exit_status);
  LanePosition position(std::uint32_t lane) const;
  // Writes what has gathered. `last`: nothing more will come.
  absl::Status write(bool last);

 private:
  struct LocalSite {
    SiteInfo info;
    bool known = false;
  };
  struct CounterState {
    CounterRow row;
    bool changed = false;
  };
  absl::Status need(const char* what, std::uint32_t local, const std::vector<std::uint32_t>& numbers,
                    std::uint32_t* number) const;
  absl::Status define_site(const SiteInfo&);
  absl::Status write_counters();
  absl::Status write_evidence();
  absl::Status write_steps(bool last);
  absl::Status take_step(std::uint32_t step, StepWork&&);
  absl::Status write_step_run();

  RunTables* tables_;
  std::uint32_t id_;
  std::string key_;
  // By the number the process gave; 0 = not told yet.
  std::vector<std::uint32_t> stacks_, modules_, call_sites_, regions_;
  std::vector<LocalSite> sites_;
  std::vector<SiteFacts> facts_;                               // by local site; site 0 = not told yet
  std::vector<bool> outermost_;                                // by local region
  absl::flat_hash_map<std::uint64_t, CounterState> counters_;  // lane << 32 | local site
  std::vector<std::uint64_t> changed_counters_;
  absl::flat_hash_map<std::uint32_t, LaneRow> lanes_;
  std::vector<std::uint32_t> changed_lanes_;
  EvidenceTracker evidence_;
  StepTracker steps_;
  StepRuns step_runs_;
  std::int64_t step_run_id_ = 0;
  bool step_run_changed_ = false;
  bool has_events_ = false;  // since the last write()
  bool ended_ = false;       // its end was told: no events will come
};

}  // namespace castscope::store
