#include "server/report/forms/json.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "server/report/forms/coverage_json.h"
#include "server/report/forms/layers_json.h"
#include "server/report/model/gpu.h"
#include "server/report/model/json_values.h"
#include "server/report/model/precision.h"
#include "server/report/model/protected_arguments.h"
#include "server/report/model/uncast_regions.h"
#include "server/report/modes/modes.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/operators/enforced_policy.h"
#include "server/store/run/names.h"
#include "server/store/run/process_order.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;
using store::RunData;

constexpr int kReportFormat = 1;  // docs/report.schema.json; grows when a key changes its meaning or goes

// One text a frame, innermost first: a report has thousands of them.
Json frames(const RunData& data, store::StackId stack) {
  Json list = Json::array();
  if (stack == 0) return list;
  for (const store::CodeLocation& frame : data.stacks[stack].frames) {
    list.push_back(frame.file + ":" + std::to_string(frame.line) + " " + frame.function);
  }
  return list;
}

Json number_or_null(std::uint32_t id) { return id == 0 ? Json() : Json(id); }

Json argument(const RunData& data, store::CallSiteId call_site) {
  if (call_site == 0) return nullptr;
  const store::CallSite& at = data.call_sites[call_site];
  if (!at.argument_name.empty()) return at.argument_name;
  return at.argument == lanes::kUnknownArgument ? Json() : Json(std::to_string(at.argument));
}

// Of the checkout at the run's start.
Json checkout_state(const store::GitState& git) {
  if (git.commit.empty() && git.branch.empty() && git.origin.empty()) return nullptr;
  return {{"commit", text_or_null(git.commit)},
          {"branch", text_or_null(git.branch)},
          {"dirty", git.dirty ? Json(*git.dirty) : Json()},
          {"origin", text_or_null(git.origin)}};
}

Json run_json(const Model& model) {
  const RunData& data = model.run;
  Json run = {
      {"id", data.start.run_id},
      {"command", data.start.command},
      {"cwd", data.start.cwd},
      {"checkout", text_or_null(data.start.checkout)},
      {"checkout_state", checkout_state(data.start.git)},
      {"host", data.start.host},
      {"start", utc(data.start.start_ns)},
      {"end", data.end ? Json(utc(data.end->end_ns)) : Json()},
      {"seconds",
       data.end ? Json(static_cast<double>((data.end->end_ns - data.start.start_ns) / 1'000'000) / 1e3) : Json()}};
  run["exit"] = model.exit ? Json(*model.exit) : Json();
  run["signal"] = data.end && data.end->signal ? Json(*data.end->signal) : Json();
  run["complete"] = model.complete();
  run["missing"] = missing_json(data, model.missing);
  run["observed"] = model.observed;
  run["castscope"] = data.start.castscope_version;
  const store::Process* const first =
      model.process_order.empty() ? nullptr : &data.processes[model.process_order.front()];
  const std::string torch = first == nullptr ? "" : first->attribute("torch_version");
  const std::string python = first == nullptr ? "" : first->attribute("python_version");
  run["torch"] = text_or_null(torch);
  run["python"] = text_or_null(python);
  const std::string policy = rules::enforced_policy(data);
  run["enforced_policy"] =
      policy.empty() ? Json() : Json{{"name", policy}, {"hash", rules::enforced_policy_hash(data)}};
  run["enforcing_would_save"] = savings_json(model.enforcing);
  run["recording"] = recording_json(data);
  run["notices"] = model.notices;
  if (data.damage) run["damage"] = data.damage->sentence;
  return run;
}

// The JSON for how much was observed operator by operator.
Json deep_json(std::uint64_t steps, std::uint64_t operators, std::uint64_t ns) {
  return {{"steps", steps}, {"operators", operators}, {"ns", ns}};
}

Json totals_json(const Totals& totals) {
  Json by_cause = Json::object(), facts = Json::object();
  for (std::size_t kind = 0; kind < totals.by_fact.size(); ++kind)
    if (totals.by_fact[kind] != 0) facts[std::string(store::fact_kind_names()[kind])] = totals.by_fact[kind];
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
          {"first_cpu_ns", totals.first_ns},
          {"dropped_events", totals.dropped_events},
          {"deep", deep_json(totals.deep_steps, totals.deep_operators, totals.deep_ns)},
          {"by_cause", by_cause},
          {"facts", facts},
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

Json regions_json(const Model& model) {
  const RunData& data = model.run;
  Json list = Json::array();
  const auto why_uncast = why_nothing_was_cast(data);
  for (const store::Region& region : data.regions) {
    const RegionTotal& total = model.regions[region.id];
    const store::Counts& c = total.counts;
    list.push_back({{"id", region.id},
                    {"location", location_json(data.user_location(region.stack))},
                    {"stack", frames(data, region.stack)},
                    {"kind", store::name(region.kind)},
                    {"device", store::device_name(region.device)},
                    {"dtype", store::dtype_name(region.dtype)},
                    {"default_dtype", (region.flags & lanes::kRegionDefaultDtype) != 0},
                    {"enabled", region.enabled},
                    {"asked_enabled", region.enabled || (region.flags & lanes::kRegionAskedEnabled) != 0},
                    {"cache_enabled", region.cache_enabled},
                    {"nesting", region.nesting},
                    {"parent", number_or_null(region.parent)},
                    {"entered", total.entered},
                    {"casts", c.casts},
                    {"cache_hits", c.hits},
                    {"pass_through", c.passes},
                    {"bytes", c.bytes},
                    {"cpu_ns", c.cpu_ns},
                    {"why_nothing_cast", text_or_null(std::string(why_uncast[region.id]))},
                    {"peak_entries", total.most_entries},
                    {"peak_bytes", total.most_bytes}});
  }
  return list;
}

// gpu_ns is the time on the device; null where no kernels were timed.
Json site_json(const RunData& data, const SiteTotal& total, const Json& gpu_ns, std::optional<bool> looked_at) {
  const store::Site& site = data.sites[total.site];
  const store::Module module = site.module ? data.modules[site.module] : store::Module();
  Json json = {{"id", site.id},
               {"location", location_json(data.user_location(site.stack))},
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
               {"compiled", site.compiled()},
               {"looked_at", looked_at ? Json(*looked_at) : Json()},
               {"region", number_or_null(site.region)},
               {"casts", total.counts.casts},
               {"cache_hits", total.counts.hits},
               {"kept", total.counts.kept},
               {"why_not_cached", site.why == lanes::WhyNotCached::kNone ? Json() : Json(store::name(site.why))},
               {"bytes", total.counts.bytes},
               {"cpu_ns", total.counts.cpu_ns},
               {"first_cpu_ns", total.first_ns},
               {"gpu_ns", gpu_ns},
               {"stack", frames(data, site.stack)},
               {"stack_truncated", site.stack != 0 && data.stacks[site.stack].truncated}};
  Json by_process = Json::array();
  for (const store::SiteUse* use : total.uses) {  // in the order of the processes
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
    const store::Site& site = data.sites[use.site];
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

std::vector<store::StepRun> in_process_order(const Model& model) {
  std::vector<store::StepRun> runs = model.run.step_runs;
  std::ranges::stable_sort(runs, {}, [&](const store::StepRun& run) { return model.process_places[run.process]; });
  return runs;
}

Json steps_json(const Model& model) {
  const RunData& data = model.run;
  Json runs = Json::array();
  for (const store::StepRun& run : in_process_order(model)) {
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
  return {{"count", model.steps}, {"runs", runs}, {"behaviours", behaviours}};
}

Json source_json(const store::SourceLines& source) {
  Json list = Json::array();
  for (const auto& [name, file] : source.files()) {
    Json lines = Json::array();
    for (const auto& [number, text] : file.lines) lines.push_back({{"line", number}, {"text", text}});
    list.push_back({{"file", name}, {"state", store::name(file.state)}, {"lines", lines}});
  }
  return list;
}

Json number_json(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? Json(value) : Json();
}

Json process_json(const Model& model, const store::Process& process) {
  const ProcessTotal& total = model.processes[process.id];
  const store::Counts& counts = total.counts;
  Json lane_list = Json::array();
  for (const store::LaneRow& lane : process.lanes) {
    std::string thread;
    for (const store::ThreadInfo& info : process.threads) {
      if (info.lane == lane.lane) thread = info.name;
    }
    lane_list.push_back({{"lane", lane.lane},
                         {"tid", lane.tid},
                         {"thread", text_or_null(thread)},
                         {"written", lane.written + lane.dropped},
                         {"received", lane.received},
                         {"dropped", lane.dropped}});
  }
  return {{"id", process.id},
          {"pid", process.info.pid},
          {"parent_pid", process.info.parent_pid},
          {"host", process.info.host},
          {"rank", store::rank_of(process) ? Json(*store::rank_of(process)) : Json()},
          {"local_rank", number_json(process.attribute("local_rank"))},
          {"world_size", number_json(process.attribute("world_size"))},
          {"command", text_or_null(process.attribute("command_line"))},
          {"begin", utc(process.info.begin_realtime_ns)},
          {"end", process.ended ? Json(store::name(process.end)) : Json()},
          {"exit", process.exit_status < 0 ? Json() : Json(process.exit_status)},
          {"step", process.gauges.present_step},
          {"casts", counts.casts},
          {"cache_hits", counts.hits},
          {"pass_through", counts.passes},
          {"traced", counts.traced},
          {"bytes", counts.bytes},
          {"cpu_ns", counts.cpu_ns},
          {"cache", cache_json(process.gauges)},
          {"deep", deep_json(process.gauges.deep_steps, process.gauges.deep_operators, process.gauges.deep_ns)},
          {"events", {{"written", total.written}, {"received", total.received}, {"dropped", total.dropped}}},
          {"lost_definitions", process.gauges.lost_definitions},
          {"lanes", lane_list}};
}

}  // namespace

Json findings_json(const Model& model) {
  Json list = Json::array();
  for (std::size_t i = 0; i < model.findings.size(); ++i) {
    const rules::Finding& finding = model.findings[i];
    Json evidence = Json::object(), related = Json::array();
    for (const auto& [name, number] : finding.evidence_number) evidence[name] = number;
    for (const auto& [name, text] : finding.evidence_text) evidence[name] = text;
    for (const store::CodeLocation& at : finding.related) related.push_back(location_json(at));
    list.push_back({{"rule", finding.rule},
                    {"severity", finding.severity},
                    {"title", finding.title},
                    {"location", location_json(finding.location)},
                    {"related", related},
                    {"evidence", evidence},
                    {"deep_only", finding.deep_only},
                    {"savings", savings_json(finding.savings)},
                    {"fingerprint", model.fingerprints[i]},
                    {"fix", finding.fix}});
  }
  return list;
}

Json to_json(const Model& model) {
  const RunData& data = model.run;
  Json report = {{"format", kReportFormat},
                 {"run", run_json(model)},
                 {"totals", totals_json(model.totals)},
                 {"roles", roles_json(model)},
                 {"model_input", model_input_json(model)},
                 {"cache", cache_json(model.totals.cache)},
                 {"coverage", coverage_json(model)},
                 {"findings", findings_json(model)},
                 {"ignored", {{"by_settings", model.ignored_by_settings}, {"in_code", model.ignored_in_code}}},
                 {"regions", regions_json(model)}};
  Json sites = Json::array();
  for (const SiteTotal& total : model.sites)
    sites.push_back(site_json(data, total, model.gpu.timed() ? Json(model.gpu.sites[total.site].ns) : Json(),
                              model.looked_at.site_looked_at[total.site]));
  report["sites"] = std::move(sites);
  report["pass_through"] = pass_through_json(data);
  report["layers"] = layers_json(model);
  report["precision"] = precision_json(data);
  report["modes"] = modes_json(data);
  report["gpu"] = gpu_json(model);
  report["protected"] = protected_json(data);
  report["steps"] = steps_json(model);
  Json processes = Json::array();
  for (const store::ProcessId id : model.process_order) processes.push_back(process_json(model, data.processes[id]));
  report["processes"] = std::move(processes);
  report["source"] = source_json(data.source);
  return report;
}

std::string json_text(const Model& model) {
  // Names of files and functions are bytes; a byte that is not UTF-8 must not cost the report.
  return to_json(model).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json to_json(const RunData& data) { return to_json(model_of(data)); }
std::string json_text(const RunData& data) { return json_text(model_of(data)); }

}  // namespace castscope::report
