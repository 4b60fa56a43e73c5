// Writes a summary as text and as JSON.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/exported/operator_facts.h"
#include "server/exported/summary.h"
#include "server/policy/policy.h"
#include "server/report/findings/fingerprint.h"
#include "server/report/text/lines.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/finding.h"

namespace castscope::exported {
namespace {

using Json = nlohmann::ordered_json;
using report::on_one_line;
using report::wrapped;
using rules::counted;

constexpr std::size_t kShown = 12;  // rows of a list; the JSON has all of them

std::string text_of(Dtype dtype) { return std::string(name(dtype)); }

std::string place_of(const store::CodeLocation& at, std::string_view project) {
  return at.file.empty() ? "no Python line"
                         : on_one_line(absl::StrCat(report::portable_path(at.file, project), ":", at.line));
}

std::string operators_text(const Summary& summary, int width) {
  std::map<Dtype, std::vector<std::string>> words;
  std::map<Dtype, std::map<std::string, std::size_t>> counts;
  for (const OperatorRow& row : summary.operators) counts[row.computed][policy::shown({row.op, ""})] += row.count;
  std::string all;
  for (const auto& [dtype, ops] : counts) {
    std::vector<std::pair<std::string, std::size_t>> sorted(ops.begin(), ops.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::vector<std::string> named;
    for (const auto& [op, count] : sorted) {
      if (named.size() == kShown) {
        named.push_back(absl::StrCat("and ", sorted.size() - kShown, " more"));
        break;
      }
      named.push_back(on_one_line(count == 1 ? op : absl::StrCat(op, " ×", count)));
    }
    all += wrapped(absl::StrCat("    ", text_of(dtype), ": "), "      ", absl::StrJoin(named, ", "), width);
  }
  return all.empty() ? "    nothing of floating point\n" : all;
}

std::size_t depth_of(const Summary& summary, const Region& region) {
  return region.within ? 1 + depth_of(summary, summary.regions[*region.within]) : 0;
}

std::string region_text(const Region& region, std::string_view project) {
  std::string text = absl::StrCat("autocast(\"", region.device, "\"");
  if (region.enabled && region.dtype) absl::StrAppend(&text, ", ", text_of(*region.dtype));
  if (!region.enabled) text += ", enabled=False";
  absl::StrAppend(&text, "), ", counted(region.operators, "operator"));
  if (region.first) absl::StrAppend(&text, ", from ", place_of(region.first->at, project));
  if (region.first && region.last && region.last->at.line != region.first->at.line)
    absl::StrAppend(&text, " to ",
                    region.last->at.file == region.first->at.file ? absl::StrCat(region.last->at.line)
                                                                  : place_of(region.last->at, project));
  return on_one_line(std::move(text));
}

std::string regions_text(const Summary& summary, std::string_view project, int width) {
  std::string all;
  for (std::size_t i = 0; i < std::min(summary.regions.size(), kShown); ++i) {
    const Region& region = summary.regions[i];
    const std::string indent(4 + 2 * depth_of(summary, region), ' ');
    all += wrapped(indent, indent + "  ", region_text(region, project), width);
  }
  if (summary.regions.size() > kShown)
    all += absl::StrCat("    and ", summary.regions.size() - kShown, " more (-f json has all)\n");
  return all.empty() ? "" : "  regions that it kept:\n" + all;
}

std::string casts_text(const Summary& summary, std::string_view project, int width) {
  std::string all;
  for (std::size_t i = 0; i < std::min(summary.casts.size(), kShown); ++i) {
    const CastRow& cast = summary.casts[i];
    std::string text = absl::StrCat(text_of(cast.from), " → ", text_of(cast.to), "  ", place_of(cast.at, project));
    if (cast.count > 1) absl::StrAppend(&text, ", ", cast.count, " times");
    if (cast.of_weights > 0) absl::StrAppend(&text, ", ", cast.of_weights, " of weights, anew in each run");
    all += wrapped("    ", "      ", text, width);
  }
  if (summary.casts.size() > kShown)
    all += absl::StrCat("    and ", summary.casts.size() - kShown, " more (-f json has all)\n");
  return all.empty() ? "" : "  casts in its code:\n" + all;
}

Json dtype_json(Dtype dtype) { return dtype == Dtype::kUnknown ? Json() : Json(name(dtype)); }

Json location_json(const store::CodeLocation& at, std::string_view project) {
  if (at.file.empty()) return {{"file", nullptr}, {"line", nullptr}, {"function", nullptr}};
  return {{"file", report::portable_path(at.file, project)}, {"line", at.line}, {"function", at.function}};
}

Json place_json(const std::optional<SourcePlace>& place, std::string_view project) {
  return place ? location_json(place->at, project) : Json();
}

Json regions_json(const Summary& summary, std::string_view project) {
  Json list = Json::array();
  for (const Region& region : summary.regions) {
    list.push_back({{"region", list.size() + 1},
                    {"region_device", region.device},
                    {"region_dtype", region.dtype ? Json(name(*region.dtype)) : Json()},
                    {"enabled", region.enabled},
                    {"parent", region.within ? Json(*region.within + 1) : Json()},
                    {"node_count", region.operators},
                    {"first_location", place_json(region.first, project)},
                    {"last_location", place_json(region.last, project)}});
  }
  return list;
}

}  // namespace

std::string summary_text(const Summary& summary, std::string_view project, int width) {
  const std::string made = summary.torch_version.empty() ? "" : absl::StrCat(" (PyTorch ", summary.torch_version, ")");
  std::string all = wrapped("  ", "    ",
                            on_one_line(absl::StrCat("dtypes that program \"", summary.program, "\" of torch.export",
                                                     made, " computes in when it runs:")),
                            width);
  all += operators_text(summary, width) + regions_text(summary, project, width);
  if (summary.taken_apart > 0)
    all += wrapped("  ", "    ",
                   on_one_line(absl::StrCat(
                       "regions that run_decompositions took apart: ", counted(summary.taken_apart, "operator"),
                       summary.modules.empty() ? "" : " of " + absl::StrJoin(summary.modules, ", "),
                       "; their casts stand in the code now, and their lines are lost")),
                   width);
  return all + casts_text(summary, project, width);
}

Json summary_json(const Summary& summary, std::string_view project) {
  Json operators = Json::array(), casts = Json::array(), stops = Json::array();
  for (const OperatorRow& row : summary.operators)
    operators.push_back({{"operator", row.op},
                         {"computed_in", dtype_json(row.computed)},
                         {"recorded_dtype", dtype_json(row.recorded)},
                         {"node_count", row.count},
                         {"certain", row.certain}});
  for (const CastRow& cast : summary.casts)
    casts.push_back({{"from_dtype", dtype_json(cast.from)},
                     {"to_dtype", dtype_json(cast.to)},
                     {"casts", cast.count},
                     {"weight_casts", cast.of_weights},
                     {"location", location_json(cast.at, project)}});
  for (const Stop& stop : summary.stops)
    stops.push_back(
        {{"operator", stop.node->op},
         {"wanted_dtype", name(stop.wanted)},
         {"given_dtype", name(stop.given)},
         {"location", location_json(stop.node->place ? stop.node->place->at : store::CodeLocation(), project)}});
  return {{"program", summary.program},
          {"torch_version", summary.torch_version},
          {"schema_version", summary.schema},
          {"decomposed", summary.decomposed},
          {"operators", operators},
          {"cast_places", casts},
          {"regions", regions_json(summary, project)},
          {"taken_apart", {{"node_count", summary.taken_apart}, {"module_types", summary.modules}}},
          {"stops", stops}};
}

}  // namespace castscope::exported
