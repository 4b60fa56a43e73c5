#include "server/report/json.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "server/report/totals.h"
#include "server/rules/rules.h"
#include "server/store/names.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;
using store::RunData;

constexpr int kReportFormat = 1;  // docs/report.schema.json; grows when a key changes its meaning or goes

std::string utc(std::int64_t ns) {
  const std::time_t seconds = ns / 1'000'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[40];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + length, sizeof text - length, ".%03dZ", static_cast<int>(ns / 1'000'000 % 1000));
  return text;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json location(const std::optional<store::CodeLocation>& at) {
  if (!at) return {{"file", nullptr}, {"line", nullptr}, {"function", nullptr}};
  return {{"file", at->file}, {"line", at->line}, {"function", at->function}};
}

// One text a frame, innermost first: a report has thousands of them.
Json frames(const RunData& data, std::uint32_t stack) {
  Json list = Json::array();
  if (stack == 0) return list;
  for (const store::CodeLocation& frame : data.stacks[stack - 1].frames) {
    list.push_back(frame.file + ":" + std::to_string(frame.line) + " " + frame.function);
  }
  return list;
}

Json number_or_null(std::uint32_t id) { return id == 0 ? Json() : Json(id); }

Json argument(const RunData& data, std::uint32_t call_site) {
  if (call_site == 0) return nullptr;
  const store::CallSite& at = data.call_sites[call_site - 1];
  if (!at.argument_name.empty()) return at.argument_name;
  return at.argument == lanes::kUnknownArgument ? Json() : Json(std::to_string(at.argument));
}

Json run_json(const RunData& data) {
  Json run = {
      {"id", data.start.run_id},
      {"command", data.start.command},
      {"cwd", data.start.cwd},
      {"host", data.start.host},
      {"start", utc(data.start.start_ns)},
      {"end", data.end ? Json(utc(data.end->end_ns)) : Json()},
      {"seconds",
       data.end ? Json(static_cast<double>((data.end->end_ns - data.start.start_ns) / 1'000'000) / 1e3) : Json()}};
  run["exit"] = exit_of(data) ? Json(*exit_of(data)) : Json();
  run["signal"] = data.end && data.end->signal ? Json(*data.end->signal) : Json();
  run["complete"] = is_complete(data);
  run["castscope"] = data.start.castscope_version;
  const std::string torch = data.processes.empty() ? "" : data.processes.front().attribute("torch");
  const std::string python = data.processes.empty() ? "" : data.processes.front().attribute("python");
  run["torch"] = text_or_null(torch);
  run["python"] = text_or_null(python);
  run["notices"] = notices(data);
  return run;
}

Json totals_json(const Totals& totals) {
  Json by_cause = Json::object();
  for (std::size_t cause = 0; cause < totals.by_cause.size(); ++cause) {
    if (cause != static_cast<std::size_t>(lanes::Cause::kAutocast) && totals.by_cause[cause] != 0) {
      by_cause[std::string(store::cause_names()[cause])] = totals.by_cause[cause];
    }
  }
  const store::Counts& beyond = totals.beyond_sites;
  return {{"casts", totals.autocast.casts},
          {"cache_hits", totals.autocast.hits},
          {"pass_through", totals.autocast.passes},
          {"traced", totals.autocast.traced},
          {"bytes", totals.autocast.bytes},
          {"cpu_ns", totals.autocast.cpu_ns},
          {"dropped_events", totals.dropped_events},
          {"by_cause", by_cause},
          {"beyond_sites",
           {{"casts", beyond.casts},
            {"cache_hits", beyond.hits},
            {"pass_through", beyond.passes},
            {"traced", beyond.traced},
            {"bytes", beyond.bytes},
            {"cpu_ns", beyond.cpu_ns}}}};
}

Json cache_json(const store::Gauges& gauges) {
  return {{"peak_bytes", gauges.cache_peak_bytes},
          {"peak_entries", gauges.cache_peak_entries},
          {"clears", gauges.cache_clears},
          {"bytes_at_end", gauges.cache_bytes},
          {"entries_at_end", gauges.cache_entries}};
}

Json regions_json(const RunData& data) {
  std::vector<store::Counts> counts(data.regions.size() + 1);
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.site(use.site);
    if (site.cause == lanes::Cause::kAutocast) counts[site.region] += use.counts;
  }
  struct Use {
    std::uint64_t entered = 0, entries = 0, bytes = 0;
  };
  std::vector<Use> uses(data.regions.size() + 1);
  for (const store::RegionUse& use : data.region_uses) {
    uses[use.region].entered += use.entered;
    uses[use.region].entries = std::max(uses[use.region].entries, use.most_entries);
    uses[use.region].bytes = std::max(uses[use.region].bytes, use.most_bytes);
  }
  Json list = Json::array();
  for (const store::Region& region : data.regions) {
    const store::Counts& c = counts[region.id];
    list.push_back({{"id", region.id},
                    {"location", location(data.user_location(region.stack))},
                    {"stack", frames(data, region.stack)},
                    {"kind", store::name(region.kind)},
                    {"device", store::device_name(region.device)},
                    {"dtype", store::dtype_name(region.dtype)},
                    {"enabled", region.enabled},
                    {"cache_enabled", region.cache_enabled},
                    {"nesting", region.nesting},
                    {"parent", number_or_null(region.parent)},
                    {"entered", uses[region.id].entered},
                    {"casts", c.casts},
                    {"cache_hits", c.hits},
                    {"pass_through", c.passes},
                    {"bytes", c.bytes},
                    {"cpu_ns", c.cpu_ns},
                    {"peak_entries", uses[region.id].entries},
                    {"peak_bytes", uses[region.id].bytes}});
  }
  return list;
}

Json site_json(const RunData& data, const SiteTotal& total) {
  const store::Site& site = data.site(total.site);
  const store::Module module = site.module ? data.modules[site.module - 1] : store::Module();
  Json json = {{"id", site.id},
               {"location", location(data.user_location(site.stack))},
               {"module", site.module ? Json(module.path) : Json()},
               {"module_type", text_or_null(module.type)},
               {"root_module_type", text_or_null(module.root_type)},
               {"model", text_or_null(module.model())},
               {"operator", text_or_null(site.op)},
               {"argument", argument(data, site.call_site)},
               {"role", store::name(site.role)},
               {"from", store::dtype_name(site.from)},
               {"to", store::dtype_name(site.to)},
               {"device", store::device_name(site.device)},
               {"cause", store::name(site.cause)},
               {"phase", store::name(site.phase)},
               {"region", number_or_null(site.region)},
               {"casts", total.counts.casts},
               {"cache_hits", total.counts.hits},
               {"kept", total.counts.kept},
               {"why_not_cached", site.why == lanes::WhyNotCached::kNone ? Json() : Json(store::name(site.why))},
               {"bytes", total.counts.bytes},
               {"cpu_ns", total.counts.cpu_ns},
               {"stack", frames(data, site.stack)},
               {"stack_truncated", site.stack != 0 && data.stacks[site.stack - 1].truncated}};
  Json by_process = Json::array();
  for (const store::SiteUse* use : total.uses) {
    by_process.push_back({{"process", use->process},
                          {"casts", use->counts.casts},
                          {"cache_hits", use->counts.hits},
                          {"bytes", use->counts.bytes},
                          {"cpu_ns", use->counts.cpu_ns}});
  }
  json["by_process"] = by_process;
  return json;
}

Json pass_through_json(const RunData& data) {
  std::map<std::tuple<std::string, std::string, std::uint32_t>, std::uint64_t> passes;
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.site(use.site);
    if (use.counts.passes == 0) continue;
    const Json position = argument(data, site.call_site);
    passes[{site.op, position.is_null() ? "" : position.get<std::string>(), site.region}] += use.counts.passes;
  }
  Json list = Json::array();
  for (const auto& [key, count] : passes) {
    const auto& [op, position, region] = key;
    list.push_back({{"operator", text_or_null(op)},
                    {"argument", text_or_null(position)},
                    {"region", number_or_null(region)},
                    {"count", count}});
  }
  return list;
}

Json steps_json(const RunData& data) {
  Json runs = Json::array();
  for (const store::StepRun& run : data.step_runs) {
    runs.push_back({{"process", run.process},
                    {"first", run.first},
                    {"last", run.last},
                    {"behaviour", number_or_null(run.behaviour)},
                    {"incomplete", run.incomplete},
                    {"casts", run.casts},
                    {"cache_hits", run.hits},
                    {"regions", run.regions},
                    {"clears", run.clears},
                    {"bytes", run.bytes},
                    {"cpu_ns", run.cpu_ns},
                    {"cache_bytes", run.cache_bytes},
                    {"begin_ns", run.begin_ns},
                    {"end_ns", run.end_ns}});
  }
  Json behaviours = Json::array();
  for (const store::BehaviourSite& at : data.behaviour_sites) {
    if (behaviours.empty() || behaviours.back()["id"] != at.behaviour) {
      behaviours.push_back({{"id", at.behaviour}, {"sites", Json::array()}});
    }
    behaviours.back()["sites"].push_back({{"site", at.site}, {"casts", at.casts}, {"cache_hits", at.hits}});
  }
  return {{"count", step_count(data)}, {"runs", runs}, {"behaviours", behaviours}};
}

Json findings_json(const std::vector<rules::Finding>& findings) {
  Json list = Json::array();
  for (const rules::Finding& finding : findings) {
    Json evidence = Json::object();
    for (const auto& [name, number] : finding.evidence_number) evidence[name] = number;
    for (const auto& [name, text] : finding.evidence_text) evidence[name] = text;
    list.push_back({{"rule", finding.rule},
                    {"severity", finding.severity},
                    {"title", finding.title},
                    {"location", location(finding.location)},
                    {"evidence", evidence},
                    {"fix", finding.fix}});
  }
  return list;
}

Json rank_json(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? Json(value) : Json();
}

Json process_json(const RunData& data, const store::Process& process) {
  store::Counts counts = process.beyond_sites;
  for (const store::SiteUse& use : data.site_uses) {
    if (use.process == process.id && data.site(use.site).cause == lanes::Cause::kAutocast) counts += use.counts;
  }
  Json lane_list = Json::array();
  std::uint64_t made = 0, received = 0, dropped = 0;
  for (const store::LaneRow& lane : process.lanes) {
    std::string thread;
    for (const store::ThreadInfo& info : process.threads) {
      if (info.lane == lane.lane) thread = info.name;
    }
    const std::uint64_t written = lane.written + lane.dropped;
    lane_list.push_back({{"lane", lane.lane},
                         {"tid", lane.tid},
                         {"thread", text_or_null(thread)},
                         {"written", written},
                         {"received", lane.received},
                         {"dropped", lane.dropped}});
    made += written;
    received += lane.received;
    dropped += lane.dropped;
  }
  return {{"id", process.id},
          {"pid", process.info.pid},
          {"parent_pid", process.info.parent_pid},
          {"host", process.info.host},
          {"rank", rank_json(process.attribute("rank"))},
          {"local_rank", rank_json(process.attribute("local_rank"))},
          {"world_size", rank_json(process.attribute("world_size"))},
          {"command", text_or_null(process.attribute("argv"))},
          {"begin", utc(process.info.begin_realtime_ns)},
          {"end", process.ended ? Json(store::name(process.end)) : Json()},
          {"exit", process.exit_status < 0 ? Json() : Json(process.exit_status)},
          {"step", process.gauges.steps},
          {"casts", counts.casts},
          {"cache_hits", counts.hits},
          {"pass_through", counts.passes},
          {"traced", counts.traced},
          {"bytes", counts.bytes},
          {"cpu_ns", counts.cpu_ns},
          {"cache", cache_json(process.gauges)},
          {"events", {{"written", made}, {"received", received}, {"dropped", dropped}}},
          {"lost_definitions", process.gauges.lost_definitions},
          {"lanes", lane_list}};
}

}  // namespace

Json to_json(const RunData& data) {
  const Totals totals = totals_of(data);
  Json report = {{"format", kReportFormat},
                 {"run", run_json(data)},
                 {"totals", totals_json(totals)},
                 {"cache", cache_json(totals.cache)},
                 {"findings", findings_json(rules::judge(data))},
                 {"regions", regions_json(data)}};
  Json sites = Json::array();
  for (const SiteTotal& total : cast_sites(data)) sites.push_back(site_json(data, total));
  report["sites"] = std::move(sites);
  report["pass_through"] = pass_through_json(data);
  report["steps"] = steps_json(data);
  Json processes = Json::array();
  for (const store::Process& process : data.processes) processes.push_back(process_json(data, process));
  report["processes"] = std::move(processes);
  return report;
}

std::string json_text(const RunData& data) {
  // Names of files and functions are bytes; what is not UTF-8 in them must not cost the report.
  return to_json(data).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace castscope::report
