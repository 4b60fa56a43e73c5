#include "server/web/api/routes.h"

#include <chrono>

#include "absl/strings/str_format.h"
#include "server/web/api/entity_tag.h"
#include "server/web/http/problem.h"

namespace castscope::web {
namespace {

constexpr std::string_view kBase = "/api/v2/", kRun = "runs/{run}";

int status_of(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return 400;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kAborted:
      return 409;
    case absl::StatusCode::kUnavailable:
      return 503;
    default:
      return 500;
  }
}

// For "runs/ID/rest": the run's id, and "runs/{run}/rest". For any other path: that path.
struct RunPath {
  std::string id, pattern;
};
RunPath split_path(const std::string& path) {
  constexpr std::string_view kRuns = "runs/";
  if (!path.starts_with(kRuns)) return {"", path};
  const std::size_t end = std::min(path.find('/', kRuns.size()), path.size());
  const auto id = decoded(path.substr(kRuns.size(), end - kRuns.size()), false);
  return {id.value_or(""), std::string(kRun) + path.substr(end)};
}

// Answers that compare are about a second run.
std::string tag_for(Runs& runs, Call& call, const Request& request) {
  const std::string question = request.path + "?" + request.query;
  if (!call.parameters.has("with_run")) return tag_of(*call.run, nullptr, question);
  const RunPtr other = runs.find(call.parameters.text("with_run"));
  return other == nullptr ? "" : tag_of(*call.run, other.get(), question);
}

Answer ask(Runs& runs, const Route& route, const std::string& id, const Request& request) {
  auto parameters = Parameters::parse(request.query, route.parameters);
  if (!parameters.ok()) return parameters.status();
  Call call{.runs = runs, .run = nullptr, .parameters = *std::move(parameters), .hung_up = request.hung_up};
  if (route.path.starts_with(kRun)) {
    call.run = runs.find(id);
    if (call.run == nullptr) return absl::NotFoundError("there is no such run");
    call.run->asked(std::chrono::steady_clock::now());
  }
  const std::string tag = route.has_tag ? tag_for(runs, call, request) : "";
  if (tag.empty()) return route.answer(call);
  Answer answer = names_tag(request.if_none_match, tag) ? Response{.status = 304} : route.answer(call);
  if (!answer.ok()) return answer;
  if (request.if_none_match == "*") answer = Response{.status = 304};  // any answer will do, if there is one
  answer->headers.emplace_back("ETag", tag);
  return answer;
}

}  // namespace

const std::vector<Route>& routes() {
  static const auto* all = [] {
    auto* list = new std::vector<Route>;
    add_run_list_routes(*list);
    add_run_routes(*list);
    add_timeline_routes(*list);
    add_field_routes(*list);
    add_duration_routes(*list);
    add_panel_routes(*list);
    add_stack_routes(*list);
    add_source_routes(*list);
    add_report_routes(*list);
    add_query_routes(*list);
    return list;
  }();
  return *all;
}

Response json_answer(const Json& json, int status) {
  return {
      .status = status, .type = "application/json", .body = json.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

Response error_answer(const absl::Status& status) {
  Response response = problem(status_of(status), std::string(status.message()), parameter_of(status));
  if (response.status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

Response answer_api(Runs& runs, const Request& request) {
  if (!request.path.starts_with(kBase))
    return error_answer(absl::NotFoundError("this castscope has version 2 of the API, which lies at api/v2/"));
  const auto [id, pattern] = split_path(request.path.substr(kBase.size()));
  for (const Route& route : routes()) {
    if (route.path != pattern) continue;
    const auto begin = std::chrono::steady_clock::now();
    Answer answer = ask(runs, route, id, request);
    Response response = answer.ok() ? *std::move(answer) : error_answer(answer.status());
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    // https://www.w3.org/TR/server-timing/: browsers show it in their developer tools.
    response.headers.emplace_back("Server-Timing", absl::StrFormat("answer;dur=%.3f", took.count()));
    return response;
  }
  return error_answer(absl::NotFoundError("there is no such route: docs/openapi.json lists them"));
}

}  // namespace castscope::web
