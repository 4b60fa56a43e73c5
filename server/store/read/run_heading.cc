#include "server/store/read/run_heading.h"

#include <nlohmann/json.hpp>

#include "server/store/file/run_file.h"

namespace castscope::store {
namespace {

// One row of the table `run`.
void put(RunHeading& heading, const std::string& name, const Statement& row) {
  if (name == "run_id") heading.start.run_id = row.text(1);
  if (name == "cwd") heading.start.cwd = row.text(1);
  if (name == "host") heading.start.host = row.text(1);
  if (name == "castscope_version") heading.start.castscope_version = row.text(1);
  if (name == "start_epoch_ns") heading.start.start_ns = row.number(1);
  if (name == "end_epoch_ns") heading.end = RunEnd{.end_ns = row.number(1), .exit_status = {}, .signal = {}};
  if (name != "command") return;
  const auto command = nlohmann::json::parse(row.text(1), nullptr, /*allow_exceptions=*/false);
  if (!command.is_array()) return;
  for (const auto& word : command) {
    if (word.is_string()) heading.start.command.push_back(word.get<std::string>());
  }
}

}  // namespace

absl::StatusOr<RunHeading> read_heading(const std::string& path) {
  auto database = open_as_it_is(path);
  if (!database.ok()) return database.status();
  RunHeading heading;
  absl::Status status = each(*database, "SELECT key, value FROM run ORDER BY key",
                             [&](const Statement& row) { put(heading, row.text(0), row); });
  if (status.ok())
    status = each(*database, "SELECT coalesce(sum(events_received), 0) FROM lanes",
                  [&](const Statement& row) { row.get(0, heading.events); });
  if (status.ok()) return heading;
  const auto whole = open_run_file(path);  // knows better what is wrong with a file that was cut short
  return whole.ok() ? status : whole.status();
}

}  // namespace castscope::store
