// The routes for the list of runs, and for what changed in a run since the last one of the same command.
#include <map>

#include "server/report/compare/account.h"
#include "server/report/compare/difference.h"
#include "server/report/text/words.h"
#include "server/web/api/list_part.h"
#include "server/web/api/routes.h"

namespace castscope::web {
namespace {

using Severities = std::map<std::string, std::uint64_t>;

Json counts_json(std::uint64_t casts, std::uint64_t hits, const Severities& findings) {
  Json by_severity = Json::object();
  for (const char* const severity : {"error", "warning", "performance", "info"}) {
    const auto found = findings.find(severity);
    by_severity[severity] = found == findings.end() ? 0 : found->second;
  }
  return {{"casts", casts}, {"cache_hits", hits}, {"findings_by_severity", std::move(by_severity)}};
}

// Of a run that nobody looks at, only its counts are read: a list of many runs must not load them all. Null where that
// fails.
Json counts_of(RunSource& run) {
  if (const SnapshotPtr known = run.known_snapshot()) {
    Severities findings;
    for (const auto& finding : known->model().findings) ++findings[finding.severity];
    const report::Totals& totals = known->model().totals;
    return counts_json(totals.autocast.casts, totals.autocast.hits, findings);
  }
  const auto counts = run.counts();
  if (!counts.ok()) return nullptr;
  return counts_json(counts->casts, counts->hits, Severities(counts->findings.begin(), counts->findings.end()));
}

Json exit_status_of(const std::optional<store::RunEnd>& end) {
  if (!end) return nullptr;
  if (end->signal) return 128 + *end->signal;
  return end->exit_status ? Json(*end->exit_status) : Json();
}

Json in_list(const RunPtr& run, bool with_counts) {
  Json json = {{"run_name", run->id()}};
  const auto told = run->summary();
  json["command"] = told.ok() ? Json(told->start.command) : Json::array();
  json["host"] = told.ok() ? told->start.host : "";
  json["start"] = told.ok() ? Json(report::utc(told->start.start_ns)) : Json();
  json["run_state"] = name(run->state());
  json["exit_status"] = told.ok() ? exit_status_of(told->end) : Json();
  json["signal"] = told.ok() && told->end && told->end->signal ? Json(*told->end->signal) : Json();
  json["event_count"] = told.ok() ? told->events : 0;
  json["run_file"] = run->file();
  if (!told.ok()) json["read_error"] = std::string(told.status().message());
  if (with_counts) json["run_counts"] = counts_of(*run);
  return json;
}

Answer list(Call& call) {
  ListPart part = list_part(call.parameters);
  const bool with_counts = call.parameters.flag("with_counts");
  if (absl::Status wrong = call.parameters.error(); !wrong.ok()) return wrong;
  const std::vector<RunPtr> all = call.runs.all();
  part.total = all.size();
  Json runs = Json::array();
  for (std::size_t i = part.begin(); i < part.end(); ++i) runs.push_back(in_list(all[i], with_counts));
  return part_answer({{"runs", std::move(runs)}}, part, "runs", with_counts ? "&with_counts=1" : "");
}

// Finds the last run of the same command in the same folder that began before this one; null: there is none.
RunPtr previous_of(const std::vector<RunPtr>& all, const store::RunStart& start) {
  RunPtr previous;
  std::int64_t begun = 0;
  for (const RunPtr& run : all) {
    const auto told = run->summary();
    if (!told.ok() || told->start.start_ns >= start.start_ns || run->state() == RunState::kGone) continue;
    if (told->start.command != start.command || told->start.cwd != start.cwd) continue;
    if (previous != nullptr && told->start.start_ns <= begun) continue;
    previous = run;
    begun = told->start.start_ns;
  }
  return previous;
}

// What is in memory, or the file without its events.
absl::StatusOr<report::Account> account_without_events(RunSource& run) {
  if (const SnapshotPtr known = run.known_snapshot()) return report::account_of(known->model(), run.file());
  return report::read_account(run.file(), run.settings());
}

Answer changes(Call& call) {
  const auto told = call.run->summary();
  if (!told.ok()) return told.status();
  const RunPtr previous = previous_of(call.runs.all(), told->start);
  if (previous == nullptr) return json_answer({{"previous_run", nullptr}, {"changes", nullptr}});
  const auto before = account_without_events(*previous), after = account_without_events(*call.run);
  if (!before.ok()) return before.status();
  if (!after.ok()) return after.status();
  Json difference = report::difference_json(*before, *after, report::difference_of(*before, *after));
  Json changes = Json::object();
  for (const char* const part : {"differs", "doubts", "total_changes", "finding_changes"})
    changes[part] = std::move(difference[part]);
  return json_answer({{"previous_run", previous->id()}, {"changes", std::move(changes)}});
}

}  // namespace

void add_run_list_routes(std::vector<Route>& routes) {
  routes.push_back({"runs", {"offset", "limit", "with_counts"}, list});
  routes.push_back({"runs/{run}/changes", {}, changes});
}

}  // namespace castscope::web
