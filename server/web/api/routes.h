// The API: maps paths to answers (docs/openapi.json lists them all). Each group of routes has its own file.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "server/web/http/message.h"
#include "server/web/http/parameters.h"
#include "server/web/runs/runs.h"

namespace castscope::web {

using Json = nlohmann::ordered_json;
using Answer = absl::StatusOr<Response>;

struct Call {
  Runs& runs;
  RunPtr run;  // null where the path names no run
  Parameters parameters;
  std::function<bool()> hung_up = {};  // as Request::hung_up
};

struct Route {
  std::string_view path;  // after "/api/v2/"; "{run}" stands for a run's id
  std::vector<std::string_view> parameters;
  std::function<Answer(Call&)> answer;
  // The answer follows from what is in memory of the run: it has a tag (entity_tag.h), and is not told twice to a
  // client that has it.
  bool has_tag = false;
};

const std::vector<Route>& routes();
void add_run_list_routes(std::vector<Route>&);  // run_list.cc: the list of runs, what changed since an earlier one
void add_run_routes(std::vector<Route>&);       // runs.cc: a run and its definitions
void add_timeline_routes(std::vector<Route>&);  // timeline.cc: pictures, events, sums of a window
void add_field_routes(std::vector<Route>&);     // fields.cc: what a search can ask for
void add_duration_routes(std::vector<Route>&);  // durations.cc: how long events of a window took
void add_panel_routes(std::vector<Route>&);     // panels.cc: findings, sites, modules, steps and what those do
void add_source_routes(std::vector<Route>&);    // source.cc: source with casts per line
void add_stack_routes(std::vector<Route>&);     // stacks.cc: the stacks of all casts and operators, as one tree
void add_report_routes(std::vector<Route>&);    // reports.cc: comparison, reports
void add_query_routes(std::vector<Route>&);     // query.cc: SQL on the run file

Response json_answer(const Json& json, int status = 200);
Response error_answer(const absl::Status& status);  // problem details (http/problem.h)

// Answers any request whose path begins with "/api/".
Response answer_api(Runs& runs, const Request& request);

}  // namespace castscope::web
