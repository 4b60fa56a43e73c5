// Takes what deep steps of one process saw, and writes it: the part of a ProcessWriter that is not about casts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/store/run/run_sink.h"
#include "server/store/trackers/metric_tracker.h"
#include "server/store/trackers/scaler_tracker.h"
#include "server/store/write/process_numbers.h"
#include "server/store/write/run_tables.h"

namespace castscope::store {

class DeepWriter {
 public:
  DeepWriter(RunTables* tables, const ProcessNumbers* numbers, ProcessId process)
      : tables_(tables), numbers_(numbers), process_(process) {}
  void adopt(const RunData&);  // of an earlier life of the file

  absl::Status operator_use(const OperatorUseInfo&);
  absl::Status kernel(const KernelInfo&);
  // A definition of row_definitions.h, with the process's numbers.
  template <typename Row>
  absl::Status row(const Row& told);
  // Run-wide, 0 = none of that kind.
  std::uint32_t number(Numbered what, std::uint32_t local) const {
    const Local known = at(local);
    const Kind wanted = what == Numbered::kFact     ? Kind::kFact
                        : what == Numbered::kKernel ? Kind::kKernel
                                                    : Kind::kOperatorUse;
    return known.kind == wanted ? known.number : 0;
  }
  bool counts(std::uint32_t local) const { return at(local).kind != Kind::kNone; }
  void counter(const CounterRow& row) { counters_[std::uint64_t{row.lane} << 32 | row.site] = row; }
  // The event is a kValues, kBackward, kOptimizer, kScaler or kMetric.
  void event(std::uint32_t lane, const lanes::Event&);
  void thread_begins(std::uint32_t lane) { scaler_.thread_begins(lane); }
  // Some of the lane's events are missing.
  void break_off(std::uint32_t lane) {
    scaler_.break_off(lane);
    gap_ = true;
  }
  absl::Status write();

 private:
#define CASTSCOPE_KIND(Type, ...) , k##Type
  enum class Kind : std::uint8_t { kNone, kOperatorUse, kKernel CASTSCOPE_ROW_DEFINITIONS(CASTSCOPE_KIND) };
#undef CASTSCOPE_KIND
  struct Local {
    Kind kind = Kind::kNone;
    std::uint32_t number = 0;  // run-wide; 0: a flow one of whose ends is not known
    // of a fact:
    lanes::FactKind fact = lanes::FactKind::kUnknown;
    std::uint16_t detail = 0;
    StackId stack = {};
  };
#define CASTSCOPE_KIND_OF(Type, ...) \
  static Kind kind_of(const Type&) { return Kind::k##Type; }
  CASTSCOPE_ROW_DEFINITIONS(CASTSCOPE_KIND_OF)
#undef CASTSCOPE_KIND_OF
  Local at(std::uint32_t local) const { return local < by_local_.size() ? by_local_[local] : Local(); }
  OperatorUseId use_or_0(std::uint32_t local) const { return OperatorUseId(number(Numbered::kOperatorUse, local)); }
  absl::Status set(std::uint32_t local, const Local&, Statement* put_local);
  // The run-wide number. Of what was never defined: an error, but none of an operator use, which may have had no room
  // in the process.
  template <typename T>
  absl::Status find(std::uint32_t local, Id<T>* number) const {
    return numbers_->find(local, number);
  }
  absl::Status find(std::uint32_t local, OperatorUseId* number) const {
    *number = use_or_0(local);
    return absl::OkStatus();
  }
  absl::Status find_subject(Fact&) const;
  void values(const lanes::Event&);
  void scaling(std::uint32_t lane, const lanes::Event&);
  absl::Status write_counters();
  absl::Status write_ranges();
  absl::Status write_metrics();

  RunTables* tables_;
  const ProcessNumbers* numbers_;
  ProcessId process_;
  std::vector<Local> by_local_;
  absl::flat_hash_map<std::uint64_t, CounterRow> counters_;  // that changed since the last write(); lane << 32 | local
  struct Range {
    ValueRange range;
    bool changed = false;
  };
  absl::flat_hash_map<std::uint64_t, Range> ranges_;  // site, or 1 << 32 | use
  ScalerTracker scaler_;
  MetricTracker metrics_;
  absl::flat_hash_map<std::uint32_t, std::string> metric_names_;  // by local fact
  bool gap_ = false;  // events are missing: from here on nothing is known to be the first
};

}  // namespace castscope::store
