#include "server/report/text/json_rows.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;

std::string on_a_line(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

void add(std::string& text, const Json& value, std::size_t depth) {
  const bool has_rows =
      value.is_array() && std::ranges::any_of(value, [](const Json& one) { return one.is_structured(); });
  if (value.empty() || !(value.is_object() || has_rows)) {
    text += on_a_line(value);
    return;
  }
  const std::string indent(depth + 1, ' ');
  text += value.is_object() ? "{\n" : "[\n";
  std::string_view between;
  for (const auto& [key, member] : value.items()) {
    text.append(between).append(indent);
    between = ",\n";
    if (value.is_object()) {
      text.append(on_a_line(Json(key))).append(": ");
      add(text, member, depth + 1);
    } else {
      text += on_a_line(member);
    }
  }
  text.append("\n").append(indent, 1).append(value.is_object() ? "}" : "]");
}

}  // namespace

std::string json_rows(const Json& value) {
  std::string text;
  add(text, value, 0);
  return text + "\n";
}

}  // namespace castscope::report
