// Takes what one process of the run did, and writes it: numbers of the process become run-wide ones here.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/store/run/run_sink.h"
#include "server/store/trackers/evidence_tracker.h"
#include "server/store/trackers/step_tracker.h"
#include "server/store/write/deep_writer.h"
#include "server/store/write/lane_gaps.h"
#include "server/store/write/process_numbers.h"
#include "server/store/write/run_tables.h"

namespace castscope::store {

class ProcessWriter {
 public:
  ProcessWriter(RunTables* tables, ProcessId id, std::string key)
      : tables_(tables), id_(id), key_(std::move(key)), numbers_(tables, id, key_), deep_(tables, &numbers_, id) {}
  ProcessWriter(const ProcessWriter&) = delete;
  ProcessWriter& operator=(const ProcessWriter&) = delete;
  absl::Status adopt(const Database&, const RunData&);

  absl::Status define(const AttributeInfo&);
  absl::Status define(const StackInfo& stack) { return numbers_.stack(stack); }
  absl::Status define(const ModuleInfo& module) { return numbers_.module(module); }
  absl::Status define(const RegionInfo& region) { return numbers_.region(region); }
  absl::Status define(const CallSiteInfo&);
  absl::Status define(const SiteInfo&);
  absl::Status define(const ThreadInfo&);
  absl::Status define(const OperatorUseInfo& use) { return deep_.operator_use(use); }
  absl::Status define(const KernelInfo& kernel) { return deep_.kernel(kernel); }
  template <typename Row>
  absl::Status define(const Row& row) {  // of row_definitions.h
    return deep_.row(row);
  }
  absl::Status events(const EventBlock&);
  absl::Status counters(std::span<const CounterRow>);
  absl::Status lanes(std::span<const LaneRow>);
  absl::Status gauges(const Gauges&);
  absl::Status end(ProcessEnd, int exit_status);
  LanePosition position(std::uint32_t lane) const;
  bool has_counter(std::uint32_t lane, std::uint32_t local_site) const {
    return counters_.contains(std::uint64_t{lane} << 32 | local_site);
  }
  std::uint32_t number(Numbered what, std::uint32_t local) const;  // run-wide, 0 = not known
  // An earlier life of the file took events of this process: those that come now are its second part.
  bool goes_on() const { return goes_on_; }
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
  void step_event(std::uint32_t lane, const lanes::Event&);
  absl::Status region_event(std::uint32_t lane, const lanes::Event&);
  absl::Status cast_event(std::uint32_t lane, const lanes::Event&);
  void break_off(std::uint32_t lane);
  absl::Status adopt_counters(const Database&);
  absl::Status adopt_steps(const Database&, const RunData&);
  absl::Status define_site(const SiteInfo&);
  // A local site turns out to be this one of the run: it has been another before, or none.
  void track_together(std::uint32_t local, SiteId before, SiteId now);
  absl::Status write_counters();
  absl::Status write_evidence(bool last);
  absl::Status write_steps(bool last);
  absl::Status take_step(std::uint32_t step, StepWork&&);
  absl::Status write_step_run();

  RunTables* tables_;
  ProcessId id_;
  std::string key_;
  ProcessNumbers numbers_;
  DeepWriter deep_;
  std::vector<LocalSite> sites_;
  std::vector<SiteFacts> facts_;                               // by local site; site 0 = not told yet
  absl::flat_hash_map<SiteId, std::uint32_t> tracked_;         // the local site by which each of the run is tracked
  absl::flat_hash_map<std::uint64_t, CounterState> counters_;  // lane << 32 | local site
  std::vector<std::uint64_t> changed_counters_;
  absl::flat_hash_map<std::uint32_t, LaneRow> lanes_;
  absl::flat_hash_map<std::uint32_t, LaneGaps> gaps_;
  std::vector<std::uint32_t> changed_lanes_;
  EvidenceTracker evidence_;
  StepTracker steps_;
  StepRuns step_runs_;
  std::int64_t step_run_id_ = 0;
  bool step_run_changed_ = false;
  bool has_events_ = false;  // since the last write()
  bool ended_ = false;       // its end was told: no events will come
  bool goes_on_ = false;     // see goes_on()
};

}  // namespace castscope::store
