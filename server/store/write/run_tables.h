// The tables and definitions that the processes of a run share while it is written.
#pragma once

#include <memory>
#include <tuple>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "server/store/file/sqlite.h"
#include "server/store/trackers/step_tracker.h"
#include "server/store/write/deep_definitions.h"
#include "server/store/write/definitions.h"
#include "server/store/write/event_window.h"
#include "server/store/write/gpu_definitions.h"
#include "server/store/write/row_table.h"

namespace castscope::store {

struct RunTables {
  Definitions definitions;
  DeepDefinitions deep;
  GpuDefinitions gpu;
#define CASTSCOPE_TABLE(Type, ...) RowTable<Type>,
  std::tuple<CASTSCOPE_ROW_DEFINITIONS(CASTSCOPE_TABLE) std::monostate> rows;
#undef CASTSCOPE_TABLE
  EventWindow window;
  Statement put_counter, put_site_evidence, put_region_use, put_step_run, mark_step_run, add_behaviour,
      add_behaviour_site, put_lane, put_gauges, put_end, put_thread, add_attribute, put_local_site, put_local_region,
      put_local_call_site, put_local_use, put_local_fact, put_use_count, put_value_range, put_scaler_use, put_metric,
      put_metric_value, thin_metric, count_metric_values, put_local_kernel, put_kernel_count;
  absl::flat_hash_map<std::uint64_t, std::uint32_t> behaviours;  // fingerprint → id
  std::size_t behaviour_rows = 0;
  std::int64_t next_step_run = 1;
  // Beyond this, behaviours are told apart but their sites are not written: a loop that never does the same twice
  // must not grow the file for ever.
  static constexpr std::size_t kMostBehaviourRows = 20'000;

  static absl::StatusOr<std::unique_ptr<RunTables>> on(const Database&, const StoreOptions&);
  absl::Status adopt(const Database&, const RunData&);
  template <typename Row>
  RowTable<Row>& of() {
    return std::get<RowTable<Row>>(rows);
  }
  // The number of what a step did; written with its sites when it is new.
  absl::Status behaviour(const StepWork&, std::uint64_t fingerprint, std::uint32_t* number);
};

}  // namespace castscope::store
