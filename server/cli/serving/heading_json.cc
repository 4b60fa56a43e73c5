#include "server/cli/serving/heading_json.h"

#include <nlohmann/json.hpp>

namespace castscope::cli {
namespace {

using Json = nlohmann::json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

template <typename T>
std::optional<T> or_nothing(const Json& value) {
  return value.is_null() ? std::nullopt : std::make_optional(value.get<T>());
}

Json json_of_start(const store::RunStart& start) {
  return {{"run_id", start.run_id},
          {"command", start.command},
          {"cwd", start.cwd},
          {"host", start.host},
          {"castscope_version", start.castscope_version},
          {"start_ns", start.start_ns},
          {"deep", start.deep},
          {"gpu", start.gpu},
          {"keep", start.keep},
          {"collected", start.collected},
          {"continued", start.continued},
          {"checkout", start.checkout},
          {"owner", start.owner},
          {"sender", start.sender},
          {"git_commit", start.git.commit},
          {"git_branch", start.git.branch},
          {"git_origin", start.git.origin},
          {"git_dirty", or_null(start.git.dirty)},
          {"source_withheld", start.source_withheld}};
}

store::RunStart start_of(const Json& json) {
  return {.run_id = json.at("run_id"),
          .command = json.at("command"),
          .cwd = json.at("cwd"),
          .host = json.at("host"),
          .castscope_version = json.at("castscope_version"),
          .start_ns = json.at("start_ns"),
          .deep = json.at("deep"),
          .gpu = json.at("gpu"),
          .keep = json.at("keep"),
          .collected = json.at("collected"),
          .continued = json.at("continued"),
          .checkout = json.at("checkout"),
          .owner = json.at("owner"),
          .sender = json.at("sender"),
          .git = {.commit = json.at("git_commit"),
                  .branch = json.at("git_branch"),
                  .origin = json.at("git_origin"),
                  .dirty = or_nothing<bool>(json.at("git_dirty"))},
          .source_withheld = json.at("source_withheld")};
}

Json json_of_end(const store::RunEnd& end) {
  return {{"end_ns", end.end_ns},
          {"exit_status", or_null(end.exit_status)},
          {"signal", or_null(end.signal)},
          {"complete", end.complete},
          {"unseen", end.unseen}};
}

store::RunEnd end_of(const Json& json) {
  return {.end_ns = json.at("end_ns"),
          .exit_status = or_nothing<int>(json.at("exit_status")),
          .signal = or_nothing<int>(json.at("signal")),
          .complete = json.at("complete"),
          .unseen = json.at("unseen")};
}

}  // namespace

std::optional<std::string> json_of(const store::RunHeading& heading) {
  try {
    return Json{{"start", json_of_start(heading.start)},
                {"end", heading.end ? json_of_end(*heading.end) : Json()},
                {"events", heading.events},
                {"acknowledged", heading.acknowledged},
                {"farewell", heading.farewell},
                {"whole", heading.whole}}
        .dump();
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::optional<store::RunHeading> heading_of(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    store::RunHeading heading{.start = start_of(json.at("start")),
                              .end = std::nullopt,
                              .events = json.at("events"),
                              .acknowledged = json.at("acknowledged"),
                              .farewell = json.at("farewell"),
                              .whole = json.at("whole")};
    if (!json.at("end").is_null()) heading.end = end_of(json.at("end"));
    return heading;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace castscope::cli
