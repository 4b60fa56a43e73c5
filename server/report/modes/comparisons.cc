#include "server/report/modes/comparisons.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "server/report/model/json_values.h"
#include "server/rules/evidence/operators/mode_of.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kForm[] = "castscope-comparison-table/3";
const Json kNoMembers = Json::object();
constexpr std::array<std::string_view, 5> kVerdicts = {"reference", "same", "cause", "follower", "alone"};

// The job wrote the text: a member that is missing, or that has another type, counts as empty.
std::string text(const Json& of, const char* key) {
  const auto found = of.find(key);
  return found != of.end() && found->is_string() ? found->get<std::string>() : "";
}
std::uint64_t number(const Json& of, const char* key) {
  const auto found = of.find(key);
  return found != of.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}
bool flag(const Json& of, const char* key) {
  const auto found = of.find(key);
  return found != of.end() && found->is_boolean() && found->get<bool>();
}
const Json& list(const Json& of, const char* key) {
  static const Json kNothing = Json::array();
  const auto found = of.find(key);
  return found != of.end() && found->is_array() ? *found : kNothing;
}
store::CodeLocation location(const Json& of) {
  return {text(of, "file"), text(of, "function"), static_cast<std::int64_t>(number(of, "line"))};
}

ComparedMode mode_from(const Json& of) {
  ComparedMode mode{.mode = text(of, "mode"), .error = text(of, "error_summary"), .error_at = location(of)};
  mode.same = number(of, "same_count");
  mode.differences = number(of, "difference_count");
  mode.followers = number(of, "follower_count");
  mode.not_comparable = number(of, "not_comparable_count");
  mode.same_values = flag(of, "same_values");
  const auto error = of.find("max_abs_error");
  if (error != of.end() && error->is_number()) mode.max_error = error->get<double>();
  return mode;
}

ComparedCell cell_from(const Json& by_mode, const std::string& mode) {
  const auto cell = by_mode.find(mode);
  if (cell == by_mode.end() || !cell->is_object()) return {};
  const std::string verdict = text(*cell, "verdict");
  const bool known = std::ranges::find(kVerdicts, verdict) != kVerdicts.end();
  return {text(*cell, "computed_in"), known ? verdict : "", text(*cell, "reason")};
}

ComparedRow row_from(const Json& of, const std::vector<ComparedMode>& modes) {
  ComparedRow row{
      .op = text(of, "shared_operator"), .module = text(of, "module"), .location = location(of), .cells = {}};
  const auto by_mode = of.find("by_mode");
  const Json& cells = by_mode != of.end() && by_mode->is_object() ? *by_mode : kNoMembers;
  row.cells.push_back(cell_from(cells, "eager"));
  for (const ComparedMode& mode : modes) row.cells.push_back(cell_from(cells, mode.mode));
  return row;
}

std::optional<Comparison> read(const std::string& written) {
  const Json of = Json::parse(written, nullptr, /*allow_exceptions=*/false);
  if (!of.is_object() || text(of, "format") != kForm) return std::nullopt;
  Comparison comparison{
      .name = text(of, "compared_function"), .same_precision = flag(of, "same_precision"), .modes = {}, .rows = {}};
  for (const Json& mode : list(of, "modes"))
    if (mode.is_object() && std::ranges::find(rules::kModeNames, text(mode, "mode")) != rules::kModeNames.end())
      comparison.modes.push_back(mode_from(mode));
  for (const Json& row : list(of, "operators"))
    if (row.is_object()) comparison.rows.push_back(row_from(row, comparison.modes));
  comparison.rows_left_out = number(of, "left_out_count");
  return comparison;
}

Json mode_json(const store::RunData& run, const ComparedMode& of) {
  Json json = {
      {"mode", of.mode},
      {"error",
       of.error.empty() ? Json() : Json{{"error_summary", of.error}, {"location", location_json(run, of.error_at)}}}};
  if (!of.error.empty()) return json;
  json.update({{"same_count", of.same},
               {"difference_count", of.differences},
               {"follower_count", of.followers},
               {"not_comparable_count", of.not_comparable},
               {"same_values", of.same_values},
               {"max_abs_error", of.max_error ? Json(*of.max_error) : Json()}});
  return json;
}

Json row_json(const store::RunData& run, const Comparison& comparison, const ComparedRow& row) {
  Json modes = Json::object();
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    const ComparedCell& cell = row.cells[i];
    if (cell.verdict.empty()) continue;
    Json json = {{"verdict", cell.verdict}};
    if (!cell.computed.empty()) json["computed_in"] = cell.computed;
    if (!cell.reason.empty()) json["reason"] = cell.reason;
    modes[i == 0 ? "eager" : comparison.modes[i - 1].mode] = std::move(json);
  }
  return {{"location", location_json(run, row.location)},
          {"shared_operator", row.op},
          {"module", row.module},
          {"by_mode", std::move(modes)}};
}

}  // namespace

bool ComparedRow::differs() const {
  return std::ranges::any_of(
      cells, [](const ComparedCell& cell) { return cell.verdict != "reference" && cell.verdict != "same"; });
}

std::vector<Comparison> comparisons(const store::RunData& data) {
  std::vector<Comparison> all;
  for (const store::Process& process : data.processes)
    for (const auto& [name, value] : process.attributes)
      if (name == kComparisonAttribute)
        if (auto comparison = read(value)) all.push_back(*std::move(comparison));
  return all;
}

Json comparisons_json(const store::RunData& data) {
  Json all = Json::array();
  for (const Comparison& comparison : comparisons(data)) {
    Json modes = Json::array(), rows = Json::array();
    for (const ComparedMode& mode : comparison.modes) modes.push_back(mode_json(data, mode));
    for (const ComparedRow& row : comparison.rows) rows.push_back(row_json(data, comparison, row));
    all.push_back({{"compared_function", comparison.name},
                   {"same_precision", comparison.same_precision},
                   {"modes", std::move(modes)},
                   {"operators", std::move(rows)},
                   {"left_out_count", comparison.rows_left_out}});
  }
  return all;
}

}  // namespace castscope::report
