#include "server/store/read/run_heading.h"

#include <nlohmann/json.hpp>

#include "server/store/file/run_file.h"

namespace castscope::store {

void put_row(const Statement& row, RunStart& start, std::optional<RunEnd>& known_end) {
  const std::string name = row.text(0);
  const auto end = [&]() -> RunEnd& { return known_end ? *known_end : known_end.emplace(); };
  if (name == "run_id") start.run_id = row.text(1);
  if (name == "cwd") start.cwd = row.text(1);
  if (name == "checkout") start.checkout = row.text(1);
  if (name == "owner") start.owner = row.text(1);
  if (name == "sender") start.sender = row.text(1);
  if (name == "git_commit") start.git.commit = row.text(1);
  if (name == "git_branch") start.git.branch = row.text(1);
  if (name == "git_origin") start.git.origin = row.text(1);
  if (name == "git_dirty") start.git.dirty = row.number(1) != 0;
  if (name == "compiled_policy") start.policy = row.text(1);
  if (name == "deep") start.deep = row.text(1);
  if (name == "gpu") start.gpu = row.text(1);
  if (name == "source_withheld") start.source_withheld = row.text(1);
  if (name == "keep") start.keep = row.text(1);
  if (name == "collected") start.collected = row.number(1) != 0;
  if (name == "continued") start.continued = row.number(1) != 0;
  if (name == "host") start.host = row.text(1);
  if (name == "castscope_version") start.castscope_version = row.text(1);
  if (name == "start_epoch_ns") start.start_ns = row.number(1);
  if (name == "command") {
    const auto list = nlohmann::json::parse(row.text(1), nullptr, false);
    if (!list.is_array()) return;
    for (const auto& word : list) start.command.push_back(word.is_string() ? word.get<std::string>() : word.dump());
  }
  if (name == "end_epoch_ns") end().end_ns = row.number(1);
  if (name == "exit_code" && !row.is_null(1)) end().exit_status = static_cast<int>(row.number(1));
  if (name == "signal" && !row.is_null(1)) end().signal = static_cast<int>(row.number(1));
  if (name == "end_unseen") end().unseen = row.text(1);
  if (name == "end_seen" || name == "complete") end().complete = row.number(1) != 0;
}

absl::Status read_relays(const Database& database, std::vector<RelayState>& relays) {
  return each(database,
              "SELECT relay, acknowledged, said_goodbye, exit_code, signal, still_running, expected_ranks, seen_ranks "
              "FROM relays",
              [&](const Statement& row) {
                RelayState& relay = relays.emplace_back();
                relay.relay = row.text(0);
                row.get(1, relay.acknowledged), row.get(2, relay.said_goodbye), row.get(3, relay.exit_status);
                row.get(4, relay.signal), row.get(5, relay.still_running);
                row.get(6, relay.expected_ranks), row.get(7, relay.seen_ranks);
              });
}

absl::StatusOr<RunCounts> read_counts(const std::string& path, std::uint64_t most_work) {
  auto database = open_as_it_is(path);
  if (!database.ok()) return database.status();
  database->limit_work(most_work);
  RunCounts counts;
  // As v_totals has them (schema.cc). What a view of the file says is up to whoever wrote the file.
  CASTSCOPE_RETURN_IF_ERROR(
      each(*database,
           "SELECT coalesce(sum(c.casts), 0), coalesce(sum(c.cache_hits), 0) "
           "FROM counters c LEFT JOIN sites s ON s.id = c.site WHERE c.site = 0 OR s.cause IN (1, 7, 12)",
           [&](const Statement& row) { row.read(counts.casts, counts.hits); }));
  CASTSCOPE_RETURN_IF_ERROR(each(*database,
                                 "SELECT severity, count(*) FROM findings GROUP BY severity ORDER BY severity",
                                 [&](const Statement& row) {
                                   auto& [severity, count] = counts.findings.emplace_back();
                                   row.read(severity, count);
                                 }));
  return counts;
}

absl::StatusOr<RunHeading> read_heading(const std::string& path, std::uint64_t most_work) {
  auto database = open_run_file(path);
  const bool is_whole = database.ok();
  if (is_whole) {
    database->leave_out_unreadable();
  } else {
    database = open_as_it_is(path);
  }
  if (!database.ok()) return database.status();
  database->limit_work(most_work);
  RunHeading heading;
  absl::Status status = each(*database, "SELECT key, value FROM run ORDER BY key",
                             [&](const Statement& row) { put_row(row, heading.start, heading.end); });
  if (status.ok())
    status = each(*database, "SELECT coalesce(sum(events_received), 0) FROM lanes",
                  [&](const Statement& row) { row.get(0, heading.events); });
  std::vector<RelayState> relays;
  if (status.ok()) status = read_relays(*database, relays);
  heading.farewell = !relays.empty();
  for (const RelayState& relay : relays) {
    if (heading.start.collected) heading.acknowledged += relay.acknowledged;
    heading.farewell = heading.farewell && relay.said_goodbye;
  }
  heading.whole = is_whole && database->left_out() == 0;
  if (status.ok()) return heading;
  const auto whole = open_run_file(path);  // knows better what is wrong with a file that was cut short
  return whole.ok() ? status : whole.status();
}

}  // namespace castscope::store
