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
void add_run_routes(std::vector<Route>&);       // runs.cc: the list of runs, their definitions
void add_timeline_routes(std::vector<Route>&);  // timeline.cc: pictures, events, sums of a window
void add_field_routes(std::vector<Route>&);     // fields.cc: what a search can ask for
void add_panel_routes(std::vector<Route>&);     // panels.cc: findings, sites, modules, steps and what those do
void add_source_routes(std::vector<Route>&);    // source.cc: source with casts per line
void add_stack_routes(std::vector<Route>&);     // stacks.cc: the stacks of all casts and operators, as one tree
void add_report_routes(std::vector<Route>&);    // reports.cc: comparison, reports

Response json_answer(const Json& json, int status = 200);
Response error_answer(const absl::Status& status);  // problem details (http/problem.h)

// Answers any request whose path begins with "/api/".
Response answer_api(Runs& runs, const Request& request);

}  // namespace castscope::web
