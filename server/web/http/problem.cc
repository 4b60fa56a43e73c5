#include "server/web/http/problem.h"

#include <nlohmann/json.hpp>

namespace castscope::web {
namespace {

using Json = nlohmann::ordered_json;

// The statuses that the viewer answers with. A problem of the type about:blank has the name of its status as its title.
const char* title_of(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 421:
      return "Misdirected Request";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

}  // namespace

Response problem(int status, const std::string& detail, const std::string& parameter) {
  Json json = {{"type", "about:blank"}, {"title", title_of(status)}, {"status", status}, {"detail", detail}};
  if (!parameter.empty()) json["parameter"] = parameter;
  return {.status = status, .type = kProblemType, .body = json.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

}  // namespace castscope::web
