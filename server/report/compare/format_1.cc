#include "server/report/compare/format_1.h"

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;
using Renames = std::initializer_list<std::pair<const char*, const char*>>;  // old, new

// `from` without a member that is missing; any other keeps its value.
void take(const Json& from, const char* old, Json& to, const char* name) {
  if (from.is_object() && from.contains(old)) to[name] = from.at(old);
}

Json renamed(const Json& object, Renames renames) {
  if (!object.is_object()) return object;
  Json result = object;
  for (const auto& [old, name] : renames) {
    take(object, old, result, name);
    result.erase(old);
  }
  return result;
}

Json member(const Json& of, const char* key) {
  return of.is_object() && of.contains(key) ? of.at(key) : Json(Json::value_t::discarded);
}

void put(Json& into, const char* key, Json value) {
  if (!value.is_discarded()) into[key] = std::move(value);
}

Json each(Json list, Renames renames) {
  if (list.is_array())
    for (Json& one : list) one = renamed(one, renames);
  return list;
}

// The first reports have no checkout.
Json root_of(const Json& run) {
  const Json checkout = member(run, "checkout");
  return checkout.is_string() && checkout != "" ? checkout : member(run, "cwd");
}

// A site names its place, operator and argument itself; here each has elements of its own in the lists.
void add_sites(const Json& sites, Json& report) {
  Json frames = Json::array(), stacks = Json::array(), call_sites = Json::array(), all = sites;
  for (std::size_t i = 0; all.is_array() && i < all.size(); ++i) {
    Json site = renamed(all[i], {{"from", "from_dtype"}, {"to", "to_dtype"}});
    if (site.is_object()) {
      const Json at = member(site, "location");
      frames.push_back(at.is_discarded() ? Json::object() : at);
      stacks.push_back({{"frame_index", i}});
      Json call_site = Json::object();
      put(call_site, "operator", member(site, "operator"));
      put(call_site, "argument", member(site, "argument"));
      call_sites.push_back(std::move(call_site));
      site["stack_index"] = site["call_site_index"] = i;
    }
    all[i] = std::move(site);
  }
  report["frames"] = std::move(frames);
  report["stacks"] = std::move(stacks);
  report["call_sites"] = std::move(call_sites);
  put(report, "sites", std::move(all));
}

}  // namespace

Json from_format_1(const Json& report) {
  const Json run = member(report, "run"), steps = member(report, "steps");
  Json result = {{"format", 2}};
  put(result, "root", root_of(run));
  result["run"] = renamed(run, {{"exit", "exit_status"}});
  Json totals = renamed(member(report, "totals"), {{"pass_through", "pass_throughs"}});
  if (totals.is_object()) take(steps, "count", totals, "step_count");
  put(result, "totals", std::move(totals));
  put(result, "cache",
      renamed(member(report, "cache"), {{"peak_bytes", "cache_peak_bytes"}, {"peak_entries", "cache_peak_entries"}}));
  put(result, "step_runs", member(steps, "runs"));
  // The first reports had none of these.
  result["ignored"] = report.contains("ignored") ? report["ignored"] : Json{{"by_settings", 0}, {"in_code", 0}};
  result["weight_products"] = report.contains("precision") ? report["precision"] : Json::array();
  Json source = report.contains("source") ? report["source"] : Json::array();
  if (source.is_array())
    for (Json& file : source)
      if (file.is_object() && file.contains("lines")) {
        file["source_lines"] = each(file["lines"], {{"text", "source_text"}});
        file.erase("lines");
      }
  result["source_files"] = std::move(source);
  for (const char* const same : {"processes", "findings", "coverage"}) put(result, same, member(report, same));
  add_sites(member(report, "sites"), result);
  return result;
}

}  // namespace castscope::report
