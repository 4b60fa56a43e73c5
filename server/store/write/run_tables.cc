#include "server/store/write/run_tables.h"

#include "server/store/write/count_sql.h"

namespace castscope::store {

absl::StatusOr<std::unique_ptr<RunTables>> RunTables::on(const Database& database, const StoreOptions& options) {
  auto tables = std::make_unique<RunTables>();
  auto definitions = Definitions::on(database);
  if (!definitions.ok()) return definitions.status();
  tables->definitions = *std::move(definitions);
  auto deep = DeepDefinitions::on(database);
  if (!deep.ok()) return deep.status();
  tables->deep = *std::move(deep);
  auto gpu = GpuDefinitions::on(database);
  if (!gpu.ok()) return gpu.status();
  tables->gpu = *std::move(gpu);
  auto window = EventWindow::on(database, options);
  if (!window.ok()) return window.status();
  tables->window = *std::move(window);
  const std::string use_count =
      put_counts_sql("operator_use_counts", "operator_use", {"calls", "result_bytes", "operator_ns"});
  const std::string kernel_count = put_counts_sql("kernel_counts", "kernel", {"launches", "moved_bytes", "gpu_ns"});
  const std::pair<Statement*, const char*> all[] = {
      {&tables->put_counter, "INSERT OR REPLACE INTO counters VALUES (?,?,?,?,?,?,?,?,?,?,?)"},
      // The larger value wins: an earlier life of the file, or a call site of which more was learnt meanwhile.
      {&tables->put_site_evidence,
       "INSERT INTO site_evidence VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO UPDATE SET "
       "cache_hits_after_growth = iif(excluded.most_kept_in_stay >= most_kept_in_stay, "
       "excluded.cache_hits_after_growth, cache_hits_after_growth), "
       "repeated_casts_of_site = max(repeated_casts_of_site, excluded.repeated_casts_of_site), "
       "repeated_casts_of_tensor = max(repeated_casts_of_tensor, excluded.repeated_casts_of_tensor), "
       "most_casts_in_stay = max(most_casts_in_stay, excluded.most_casts_in_stay), "
       "most_kept_in_stay = max(most_kept_in_stay, excluded.most_kept_in_stay), "
       "most_kept_bytes_in_stay = max(most_kept_bytes_in_stay, excluded.most_kept_bytes_in_stay), "
       "returning_entries = max(returning_entries, excluded.returning_entries), "
       "recast_in_pass = max(recast_in_pass, excluded.recast_in_pass), "
       "recast_passes = max(recast_passes, excluded.recast_passes), "
       "cast_passes = max(cast_passes, excluded.cast_passes), "
       "first_cpu_ns = iif(first_cpu_ns > 0, first_cpu_ns, excluded.first_cpu_ns)"},
      {&tables->put_region_use, "INSERT OR REPLACE INTO region_use VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"},
      {&tables->put_step_run, "INSERT OR REPLACE INTO step_runs VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"},
      {&tables->mark_step_run,
       "UPDATE step_runs SET incomplete = 1 WHERE process = ?1 AND first_step <= ?2 AND last_step >= ?2"},
      {&tables->add_behaviour, "INSERT INTO behaviours VALUES (?,?)"},
      {&tables->add_behaviour_site, "INSERT INTO behaviour_sites VALUES (?,?,?,?)"},
      {&tables->put_lane, "INSERT OR REPLACE INTO lanes VALUES (?,?,?,?,?,?,?)"},
      {&tables->put_gauges,
#define CASTSCOPE_SET_GAUGE(name, ...) #name " = ?, "
       "UPDATE processes SET " CASTSCOPE_GAUGES(CASTSCOPE_SET_GAUGE) "id = id WHERE id = ?"},
#undef CASTSCOPE_SET_GAUGE
      {&tables->put_end, "UPDATE processes SET ended = 1, end_kind = ?2, exit_status = ?3 WHERE id = ?1"},
      {&tables->put_thread, "INSERT OR REPLACE INTO threads VALUES (?,?,?,?,?)"},
      {&tables->put_local_site, "INSERT OR REPLACE INTO local_sites VALUES (?,?,?)"},
      {&tables->put_local_call_site, "INSERT OR REPLACE INTO local_call_sites VALUES (?,?,?)"},
      {&tables->put_local_region, "INSERT OR REPLACE INTO local_regions VALUES (?,?,?)"},
      {&tables->put_local_use, "INSERT OR REPLACE INTO local_operator_uses VALUES (?,?,?)"},
      {&tables->put_local_fact, "INSERT OR REPLACE INTO local_facts VALUES (?,?,?)"},
      {&tables->put_use_count, use_count.c_str()},
      {&tables->put_value_range, "INSERT OR REPLACE INTO value_ranges VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"},
      {&tables->put_scaler_use, "INSERT OR REPLACE INTO scaler_use VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"},
      {&tables->put_metric, "INSERT OR REPLACE INTO metrics VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"},
      {&tables->put_metric_value, "INSERT OR REPLACE INTO metric_values VALUES (?,?,?)"},
      {&tables->thin_metric, "DELETE FROM metric_values WHERE metric = ?1 AND (step - ?2) % ?3 <> 0"},
      {&tables->count_metric_values, "SELECT count(*) FROM metric_values WHERE metric = ?1"},
      {&tables->put_local_kernel, "INSERT OR REPLACE INTO local_kernels VALUES (?,?,?)"},
      {&tables->put_kernel_count, kernel_count.c_str()},
      {&tables->add_attribute,
       "INSERT INTO attributes SELECT ?1, ?2, ?3 WHERE NOT EXISTS "
       "(SELECT 1 FROM attributes WHERE process = ?1 AND attribute = ?2 AND value = ?3)"},
  };
  CASTSCOPE_RETURN_IF_ERROR(prepare_all(database, all));
#define CASTSCOPE_PREPARE(Type, ...) CASTSCOPE_RETURN_IF_ERROR(tables->of<Type>().prepare(database));
  CASTSCOPE_ROW_DEFINITIONS(CASTSCOPE_PREPARE)
#undef CASTSCOPE_PREPARE
  return tables;
}

absl::Status RunTables::adopt(const Database& database, const RunData& data) {
  CASTSCOPE_RETURN_IF_ERROR(definitions.adopt(database, data));
  deep.adopt(data);
  gpu.adopt(data);
#define CASTSCOPE_ADOPT(Type, list, ...) of<Type>().adopt(data.list);
  CASTSCOPE_ROW_DEFINITIONS(CASTSCOPE_ADOPT)
#undef CASTSCOPE_ADOPT
  CASTSCOPE_RETURN_IF_ERROR(window.adopt(database));
  behaviour_rows = data.behaviour_sites.size();
  auto rows = Statement::prepare(database, "SELECT id, behaviour_hash FROM behaviours");
  if (!rows.ok()) return rows.status();
  for (;;) {
    const auto more = rows->next();
    if (!more.ok()) return more.status();
    if (!*more) break;
    behaviours.emplace(static_cast<std::uint64_t>(rows->number(1)), rows->number(0));
  }
  auto last = Statement::prepare(database, "SELECT coalesce(max(id), 0) FROM step_runs");
  if (!last.ok()) return last.status();
  if (const auto row = last->next(); !row.ok()) return row.status();
  next_step_run = last->number(0) + 1;
  return absl::OkStatus();
}

absl::Status RunTables::behaviour(const StepWork& work, std::uint64_t fingerprint, std::uint32_t* number) {
  const auto [it, is_new] = behaviours.try_emplace(fingerprint, behaviours.size() + 1);
  *number = it->second;
  if (!is_new) return absl::OkStatus();
  CASTSCOPE_RETURN_IF_ERROR(add_behaviour.run(*number, fingerprint));
  if (behaviour_rows + work.sites.size() > kMostBehaviourRows) return absl::OkStatus();
  behaviour_rows += work.sites.size();
  for (const StepWork::AtSite& at : work.sites) {
    CASTSCOPE_RETURN_IF_ERROR(add_behaviour_site.run(*number, at.site, at.casts, at.hits));
  }
  return absl::OkStatus();
}

}  // namespace castscope::store
