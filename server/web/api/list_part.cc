#include "server/web/api/list_part.h"

#include "absl/strings/str_cat.h"

namespace castscope::web {

ListPart list_part(Parameters& parameters) {
  ListPart part;
  part.offset = static_cast<std::size_t>(parameters.number("offset", 0, kLatestTime, 0));
  part.limit = static_cast<std::size_t>(parameters.number("limit", 1, kLargestPart, kUsualPart));
  return part;
}

Response part_answer(Json json, const ListPart& part, std::string_view route, std::string_view more) {
  std::string next;
  if (part.end() < part.total)
    next = absl::StrCat(std::string(route), "?offset=", part.end(), "&limit=", part.limit, std::string(more));
  json["total"] = part.total;
  json["next"] = next.empty() ? Json() : Json(next);
  Response response = json_answer(json);
  if (!next.empty()) response.headers.emplace_back("Link", absl::StrCat("<", next, ">; rel=\"next\""));
  return response;
}

}  // namespace castscope::web
