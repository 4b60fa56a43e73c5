#include "server/store/read/run_reader.h"

#include <chrono>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/log/log.h"
#include "server/store/file/checksum.h"
#include "server/store/file/run_file.h"
#include "server/store/file/schema.h"
#include "server/store/file/source_tables.h"
#include "server/store/read/deep_reader.h"
#include "server/store/read/gpu_reader.h"
#include "server/store/read/references.h"
#include "server/store/read/run_heading.h"

namespace castscope::store {
namespace {

absl::Status read_definitions(const Database& database, RunData& data) {
  // Ids are dense and in order; a file where they are not fails check_references.
  CASTSCOPE_RETURN_IF_ERROR(each(database, "SELECT stack_truncated FROM stacks ORDER BY id", [&](const Statement& row) {
    data.stacks.push_back({.frames = {}, .truncated = row.number(0) != 0});
  }));
  std::size_t lost = 0;
  CASTSCOPE_RETURN_IF_ERROR(
      each(database,
           "SELECT f.stack, c.file, c.function, f.line FROM frames f JOIN code_objects c ON c.id = f.code_object "
           "ORDER BY f.stack, f.frame_depth",
           [&](const Statement& row) {
             if (Stack* const stack = data.stacks.find_number(static_cast<std::uint64_t>(row.number(0)))) {
               stack->frames.push_back({row.text(1), row.text(2), row.number(3)});
             } else {
               ++lost;
             }
           }));
  CASTSCOPE_RETURN_IF_ERROR(none_lost(database, lost, "a frame has no stack"));
  CASTSCOPE_RETURN_IF_ERROR(
      each(database, "SELECT module, module_type, root_module_type, root_module_number FROM modules ORDER BY id",
           [&](const Statement& row) {
             Module& module = data.modules.emplace_back();
             row.read(module.path, module.type, module.root_type, module.root_number);
           }));
  CASTSCOPE_RETURN_IF_ERROR(each(
      database, "SELECT operator, argument_position, argument_name, code_address FROM call_sites ORDER BY id",
      [&](const Statement& row) {
        data.call_sites.push_back({row.text(0), static_cast<std::uint32_t>(row.number(1)), row.text(2), row.text(3)});
      }));
  CASTSCOPE_RETURN_IF_ERROR(each(database,
                                 "SELECT id, stack, parent, nesting, region_device, region_dtype, enabled, "
                                 "cache_enabled, region_kind, region_flags "
                                 "FROM regions ORDER BY id",
                                 [&](const Statement& row) {
                                   Region& r = data.regions.emplace_back();
                                   row.read(r.id, r.stack, r.parent, r.nesting, r.device, r.dtype, r.enabled,
                                            r.cache_enabled, r.kind, r.flags);
                                 }));
  return each(database,
              "SELECT id, stack, module_id, call_site, region, forward_site, operator, role, cause, why_not_cached, "
              "phase, from_dtype, "
              "to_dtype, device, site_flags FROM sites ORDER BY id",
              [&](const Statement& row) {
                Site& s = data.sites.emplace_back();
                row.read(s.id, s.stack, s.module, s.call_site, s.region, s.forward_site, s.op, s.role, s.cause, s.why,
                         s.phase, s.from, s.to, s.device, s.flags);
              });
}

#define CASTSCOPE_COLUMN(name, ...) ", " #name
#define CASTSCOPE_VALUE(name, ...) , g.name

absl::Status read_processes(const Database& database, RunData& data) {
  CASTSCOPE_RETURN_IF_ERROR(
      each(database,
           "SELECT id, process_key, host, pid, parent_pid, start_ticks, start_epoch_ns, ended, end_kind, "
           "exit_status" CASTSCOPE_GAUGES(CASTSCOPE_COLUMN) " FROM processes ORDER BY id",
           [&](const Statement& row) {
             Process& p = data.processes.emplace_back();
             Gauges& g = p.gauges;
             row.read(p.id, p.info.key, p.info.host, p.info.pid, p.info.parent_pid, p.info.start_ticks,
                      p.info.begin_realtime_ns, p.ended, p.end, p.exit_status CASTSCOPE_GAUGES(CASTSCOPE_VALUE));
           }));
  std::size_t lost = keep_numbered(data.processes);
  const auto of = [&](const Statement& row) -> Process* {
    Process* const process = data.processes.find_number(static_cast<std::uint64_t>(row.number(0)));
    if (process == nullptr) ++lost;
    return process;
  };
  CASTSCOPE_RETURN_IF_ERROR(
      each(database, "SELECT process, attribute, value FROM attributes ORDER BY rowid", [&](const Statement& row) {
        if (Process* p = of(row)) p->attributes.emplace_back(row.text(1), row.text(2));
      }));
  CASTSCOPE_RETURN_IF_ERROR(each(database, "SELECT DISTINCT value FROM attributes WHERE attribute = 'torch_folder'",
                                 [&](const Statement& row) { data.torch_folders.push_back(row.text(0)); }));
  CASTSCOPE_RETURN_IF_ERROR(each(database,
                                 "SELECT process, lane, tid, events_published, events_dropped, events_received, "
                                 "next_event FROM lanes ORDER BY process, lane",
                                 [&](const Statement& row) {
                                   Process* p = of(row);
                                   if (!p) return;
                                   LaneRow& lane = p->lanes.emplace_back();
                                   row.read_from(1, lane.lane, lane.tid, lane.written, lane.dropped, lane.received,
                                                 lane.next);
                                 }));
  CASTSCOPE_RETURN_IF_ERROR(
      each(database, "SELECT process, local_id, lane, tid, thread_name FROM threads ORDER BY process, local_id",
           [&](const Statement& row) {
             Process* p = of(row);
             if (!p) return;
             ThreadInfo& thread = p->threads.emplace_back();
             row.read_from(1, thread.id, thread.lane, thread.tid, thread.name);
           }));
  return none_lost(database, lost, "its processes");
}

absl::Status read_cast_counts(const Database& database, RunData& data) {
  CASTSCOPE_RETURN_IF_ERROR(each(database,
                                 "SELECT process, site, sum(casts), sum(cache_hits), sum(pass_throughs), sum(traced), "
                                 "sum(bytes), sum(cpu_ns), sum(kept) "
                                 "FROM counters GROUP BY process, site ORDER BY process, site",
                                 [&](const Statement& row) {
                                   SiteUse use;
                                   row.read(use.process, use.site, use.counts.casts, use.counts.hits, use.counts.passes,
                                            use.counts.traced, use.counts.bytes, use.counts.cpu_ns, use.counts.kept);
                                   data.site_uses.push_back(use);
                                 }));
  absl::flat_hash_map<std::uint64_t, SiteEvidence> evidence;
  CASTSCOPE_RETURN_IF_ERROR(each(
      database,
      "SELECT id, repeated_casts_of_site, repeated_casts_of_tensor, most_casts_in_stay, most_kept_in_stay, "
      "most_kept_bytes_in_stay, cache_hits_after_growth, returning_entries, first_cpu_ns, recast_in_pass, "
      "recast_passes, cast_passes "
      "FROM site_evidence",
      [&](const Statement& row) {
        SiteEvidence& e = evidence[static_cast<std::uint64_t>(row.number(0))];
        row.read_from(1, e.repeats, e.same_source, e.most_in_region, e.most_kept, e.most_kept_bytes,
                      e.hits_after_growth, e.returning, e.first_ns, e.recast_in_pass, e.recast_passes, e.cast_passes);
      }));
  for (SiteUse& use : data.site_uses) {
    const auto it = evidence.find(std::uint64_t{use.process} << 32 | use.site);
    if (it != evidence.end()) use.evidence = it->second;
  }
  return each(
      database,
      "SELECT process, region, entered, exited, most_entries_in_stay, most_bytes_in_stay, raw_kept, raw_kept_bytes, "
      "raw_own_clears, raw_first_kept_step, most_optimizer_steps_in_stay, cleared_midway, cache_clears_within, "
      "old_cache_hits FROM region_use ORDER BY "
      "process, region",
      [&](const Statement& row) {
        RegionUse& use = data.region_uses.emplace_back();
        row.read(use.process, use.region, use.entered, use.exited, use.most_entries, use.most_bytes, use.kept,
                 use.kept_bytes, use.own_clears, use.first_kept_step, use.most_optimizer_steps, use.cleared_midway,
                 use.clears_within, use.old_hits);
      });
}

absl::Status read_steps(const Database& database, RunData& data) {
  CASTSCOPE_RETURN_IF_ERROR(
      each(database,
           "SELECT process, first_step, last_step, training_steps, behaviour, incomplete, begin_in_process_ns, "
           "end_in_process_ns, median_step_ns, casts, cache_hits, regions_entered, cache_clears, bytes, cpu_ns, "
           "most_cleared_bytes FROM step_runs "
           "ORDER BY process, first_step, id",
           [&](const Statement& row) {
             StepRun& run = data.step_runs.emplace_back();
             row.read(run.process, run.first, run.last, run.training_steps, run.behaviour, run.incomplete, run.begin_ns,
                      run.end_ns, run.median_ns, run.casts, run.hits, run.regions, run.clears, run.bytes, run.cpu_ns,
                      run.cache_bytes);
           }));
  return each(database, "SELECT behaviour, site, casts, cache_hits FROM behaviour_sites ORDER BY behaviour, site",
              [&](const Statement& row) {
                BehaviourSite& at = data.behaviour_sites.emplace_back();
                row.read(at.behaviour, at.site, at.casts, at.hits);
              });
}

// All that rules judge.
absl::Status read_evidence(const Database& database, RunData& data) {
  const auto format = format_of(database);
  if (!format.ok()) return format.status();
  data.weakly_checked = *format == kWeaklyCheckedFormat;
  CASTSCOPE_RETURN_IF_ERROR(each(database, "SELECT key, value FROM run ORDER BY key",
                                 [&](const Statement& row) { put_row(row, data.start, data.end); }));
  CASTSCOPE_RETURN_IF_ERROR(each(database, "SELECT sentence FROM notices ORDER BY id",
                                 [&](const Statement& row) { data.notices.push_back(row.text(0)); }));
  CASTSCOPE_RETURN_IF_ERROR(each(database,
                                 "SELECT incomplete_reason, process_key, sentence FROM missing ORDER BY rowid",
                                 [&](const Statement& row) {
                                   Incomplete& one = data.incomplete.emplace_back();
                                   row.read(one.reason, one.process, one.sentence);
                                 }));
  CASTSCOPE_RETURN_IF_ERROR(each(database, "SELECT sum(expected_ranks), sum(seen_ranks) FROM relays",
                                 [&](const Statement& row) { row.read(data.ranks.expected, data.ranks.seen); }));
  CASTSCOPE_RETURN_IF_ERROR(read_processes(database, data));
  CASTSCOPE_RETURN_IF_ERROR(read_definitions(database, data));
  CASTSCOPE_RETURN_IF_ERROR(read_cast_counts(database, data));
  CASTSCOPE_RETURN_IF_ERROR(read_steps(database, data));
  CASTSCOPE_RETURN_IF_ERROR(read_deep(database, data));
  CASTSCOPE_RETURN_IF_ERROR(read_gpu(database, data));
  CASTSCOPE_RETURN_IF_ERROR(none_lost(database, mend_references(data), "its rows do not fit together"));
  for (const SiteUse& use : data.site_uses) {
    if (use.site == 0) data.processes[use.process].beyond_sites = use.counts;
  }
  std::erase_if(data.site_uses, [](const SiteUse& use) { return use.site == 0; });
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RunData> read_run_data(const Database& database) {
  const auto begin = std::chrono::steady_clock::now();
  RunData data;
  CASTSCOPE_RETURN_IF_ERROR(read_evidence(database, data));
  CASTSCOPE_RETURN_IF_ERROR(read_source(database, data.source));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  log::debug_took(absl::StrCat("read the run ", data.start.run_id), took.count(),
                  absl::StrCat(data.sites.size(), " sites, ", data.operator_uses.size(), " operator uses"));
  return data;
}

absl::StatusOr<RunData> read_run(const std::string& path) {
  auto database = open_run_file(path);
  if (!database.ok()) return database.status();
  CASTSCOPE_RETURN_IF_ERROR(database->exec("BEGIN"));  // all of it from one moment, also while the run goes on
  CASTSCOPE_RETURN_IF_ERROR(check_checksums(*database));
  return read_run_data(*database);
}

namespace {

absl::Status nothing_left(const absl::Status& why) {
  return absl::DataLossError(absl::StrCat(why.message(), " (nothing of the run can be read from what is there)"));
}

// Says which tables have a damaged index; "" = none. A checksum is of rows, which castscope reads without an index; SQL
// of others finds rows by it.
absl::StatusOr<std::string> damaged_indexes(const std::string& path) {
  auto database = open_run_file(path);
  if (!database.ok()) return database.status();
  std::vector<std::string> tables, damaged;
  CASTSCOPE_RETURN_IF_ERROR(each(*database,
                                 "SELECT DISTINCT tbl_name FROM sqlite_schema WHERE type = 'index' ORDER BY 1",
                                 [&](const Statement& row) { tables.push_back(row.text(0)); }));
  for (const std::string& table : tables) {
    auto check = Statement::prepare(*database, absl::StrCat("PRAGMA integrity_check(", table, ")"));
    if (!check.ok()) return check.status();
    const auto any = check->next();
    if (!any.ok() || (*any && check->text(0) != "ok")) damaged.push_back(table);
  }
  if (damaged.empty()) return "";
  return absl::StrCat("the index of the table ", absl::StrJoin(damaged, ", of the table "),
                      " is damaged: SQL may miss rows "
                      "of it until `sqlite3 NAME.castscope REINDEX` has made it anew; what was counted is all there");
}

}  // namespace

absl::StatusOr<RunData> read_as_it_is(const std::string& path) {
  absl::StatusOr<RunData> whole = read_run(path);
  if (whole.ok()) {
    const auto indexes = damaged_indexes(path);
    if (indexes.ok() && !indexes->empty()) whole->damage = Damage{.sentence = *indexes, .evidence = false};
  }
  if (!absl::IsDataLoss(whole.status())) return whole;
  auto database = open_as_it_is(path);
  if (!database.ok()) return nothing_left(whole.status());
  RunData data;
  if (!read_evidence(*database, data).ok() || data.processes.empty()) return nothing_left(whole.status());
  const auto has_them = has_checksums(*database);
  const bool all_there = database->left_out() == 0 && check_checksum(*database, Part::kEvidence).ok();
  if (!read_source(*database, data.source).ok()) return nothing_left(whole.status());
  std::string why(whole.status().message());
  if (why.starts_with(path + ": ")) why.erase(0, path.size() + 2);
  const bool checkable = database->left_out() > 0 || (has_them.ok() && *has_them);
  why += all_there   ? "; what was counted is all there"
         : checkable ? "; what was counted is not all there, and findings cannot be determined"
                     : "; whether what was counted is all there is not known, and findings cannot be determined";
  data.damage = Damage{.sentence = std::move(why), .evidence = !all_there};
  return data;
}

}  // namespace castscope::store
