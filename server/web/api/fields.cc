// The routes for those who type a search: which fields there are, the values of one of them, and whether a text is a
// search.
#include <ranges>

#include "absl/strings/ascii.h"
#include "server/report/model/json_values.h"
#include "server/web/api/routes.h"
#include "server/web/search/field_values.h"

namespace castscope::web {
namespace {

constexpr std::size_t kMostValues = 100;  // nobody reads more: who wants another one types more of it

Answer list_fields() {
  Json list = Json::array();
  for (const FieldInfo& info : search_fields())
    list.push_back({{"search_field", info.name}, {"field_meaning", info.meaning}});
  return json_answer({{"search_fields", std::move(list)}});
}

Answer list_values(Call& call) {
  const FieldInfo* const info = find_field(absl::AsciiStrToLower(call.parameters.text("search_field")));
  if (info == nullptr)
    return wrong_parameter("search_field", "search_field is no field of a search; without it the fields are listed");
  const auto snapshot = call.run->snapshot();
  if (!snapshot.ok()) return snapshot.status();
  const std::vector<FieldValue> values =
      field_values(searched(**snapshot), *call.run->timeline(), info->field, call.parameters.text("part_of_value"));
  Json list = Json::array();
  for (const FieldValue& one : values | std::views::take(kMostValues))
    list.push_back({{"field_value", one.value},
                    {"shown_name", report::text_or_null(one.shown_name)},
                    {"event_count", one.events}});
  return json_answer({{"search_field", info->name}, {"field_values", std::move(list)}, {"total", values.size()}});
}

Answer fields(Call& call) { return call.parameters.has("search_field") ? list_values(call) : list_fields(); }

// Somebody who types asks this for each letter, and a text that is not whole yet is no mistake: so it is an answer.
Answer check(Call& call) {
  if (!call.parameters.has("find")) return wrong_parameter("find", "find is missing: what may be a search");
  const auto query = parse_search(call.parameters.text("find"));
  return json_answer({{"search_problem", query.ok() ? Json() : Json(std::string(query.status().message()))}});
}

}  // namespace

void add_field_routes(std::vector<Route>& routes) {
  routes.push_back({"runs/{run}/fields", {"search_field", "part_of_value"}, fields, true});
  routes.push_back({"check_search", {"find"}, check});
}

}  // namespace castscope::web
