#include "server/report/forms/processes_json.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "server/report/model/json_values.h"
#include "server/report/model/spans.h"
#include "server/report/text/words.h"
#include "server/store/run/process_order.h"
#include "server/store/run/step_numbers.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;

// The places in RunData::step_runs.
std::vector<std::size_t> in_process_order(const Model& model) {
  std::vector<std::size_t> places(model.run.step_runs.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places, {},
                           [&](std::size_t place) { return model.process_places[model.run.step_runs[place].process]; });
  return places;
}

// In the order in which the steps of step_runs_json() do what they stand for.
std::vector<std::uint32_t> behaviours_in_order(const Model& model) {
  std::vector<std::uint32_t> all;
  std::vector<bool> listed;
  for (const std::size_t place : in_process_order(model)) {
    const store::StepRun& run = model.run.step_runs[place];
    if (run.behaviour == 0) continue;
    if (listed.size() <= run.behaviour) listed.resize(run.behaviour + 1);
    if (!listed[run.behaviour]) all.push_back(run.behaviour);
    listed[run.behaviour] = true;
  }
  return all;
}

Json number_json(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? Json(value) : Json();
}

Json lanes_json(const store::Process& process) {
  Json list = Json::array();
  for (const store::LaneRow& lane : process.lanes) {
    std::string thread;
    for (const store::ThreadInfo& info : process.threads)
      if (info.lane == lane.lane) thread = info.name;
    list.push_back({{"lane", lane.lane},
                    {"tid", lane.tid},
                    {"thread_name", text_or_null(thread)},
                    {"events_made", lane.written + lane.dropped},
                    {"events_received", lane.received},
                    {"events_dropped", lane.dropped}});
  }
  return list;
}

Json spans_json(const Model& model, const store::Process& process) {
  const std::int64_t since_run = process.info.begin_realtime_ns - model.run.start.start_ns;
  Json list = Json::array();
  for (const Span& span : spans_of(process))
    list.push_back(Json{{"begin_ns", since_run + span.begin_ns},
                        {"end_ns", since_run + span.end_ns},
                        {"first_step", span.first_step},
                        {"last_step", span.last_step}});
  return list;
}

Json process_json(const Model& model, const store::Process& process) {
  const ProcessTotal& total = model.processes[process.id];
  const store::Counts& counts = total.counts;
  return {{"process", process.id},
          {"pid", process.info.pid},
          {"parent_pid", process.info.parent_pid},
          {"host", process.info.host},
          {"rank", store::rank_of(process) ? Json(*store::rank_of(process)) : Json()},
          {"local_rank", number_json(process.attribute("local_rank"))},
          {"world_size", number_json(process.attribute("world_size"))},
          {"command_line", text_or_null(process.attribute("command_line"))},
          {"os", text_or_null(process.attribute("os"))},
          {"cpu_model", text_or_null(process.attribute("cpu_model"))},
          {"core_count", number_json(process.attribute("core_count"))},
          {"memory_bytes", number_json(process.attribute("memory_bytes"))},
          {"thread_count", number_json(process.attribute("thread_count"))},
          {"start", utc(process.info.begin_realtime_ns)},
          {"end_kind", process.ended ? Json(store::name(process.end)) : Json()},
          {"exit_status", process.exit_status < 0 ? Json() : Json(process.exit_status)},
          {"present_step", process.gauges.present_step},
          {"casts", counts.casts},
          {"cache_hits", counts.hits},
          {"pass_throughs", counts.passes},
          {"traced", counts.traced},
          {"bytes", counts.bytes},
          {"cpu_ns", counts.cpu_ns},
          {"cache", cache_json(process.gauges)},
          {"deep_steps", process.gauges.deep_steps},
          {"deep_operators", process.gauges.deep_operators},
          {"deep_ns", process.gauges.deep_ns},
          {"span_count", process.gauges.spans},
          {"watched_ns", process.gauges.watched_ns},
          {"spans", spans_json(model, process)},
          {"events_made", total.written},
          {"events_received", total.received},
          {"events_dropped", total.dropped},
          {"lost_definitions", process.gauges.lost_definitions},
          {"lanes", lanes_json(process)}};
}

}  // namespace

Json cache_json(const store::Gauges& gauges) {
  return {{"cache_peak_bytes", gauges.cache_peak_bytes},
          {"cache_peak_entries", gauges.cache_peak_entries},
          {"cache_clears", gauges.cache_clears},
          {"cache_bytes", gauges.cache_bytes},
          {"cache_entries", gauges.cache_entries}};
}

Json step_runs_json(const Model& model) {
  Json list = Json::array();
  const std::vector<store::NumberedRun> numbered = store::numbered_runs(model.run);
  for (const std::size_t place : in_process_order(model)) {
    const store::StepRun& run = model.run.step_runs[place];
    list.push_back({{"process", run.process},
                    {"step_kind", store::name(numbered[place].kind)},
                    {"first_number", numbered[place].first_number},
                    {"first_step", run.first},
                    {"last_step", run.last},
                    {"behaviour", run.behaviour == 0 ? Json() : Json(run.behaviour)},
                    {"incomplete", run.incomplete},
                    {"casts", run.casts},
                    {"cache_hits", run.hits},
                    {"regions_entered", run.regions},
                    {"cache_clears", run.clears},
                    {"bytes", run.bytes},
                    {"cpu_ns", run.cpu_ns},
                    {"most_cleared_bytes", run.cache_bytes},
                    {"begin_ns", since_start(model.run, run.process, run.begin_ns)},
                    {"end_ns", since_start(model.run, run.process, run.end_ns)},
                    {"median_step_ns", run.median_ns}});
  }
  return list;
}

Json behaviours_json(const Model& model) {
  store::Table<std::size_t, store::Site> places(model.run.sites.size());
  for (std::size_t i = 0; i < model.by_code.size(); ++i) places[model.sites[model.by_code[i]].site] = i + 1;
  std::map<std::uint32_t, std::vector<store::BehaviourSite>> sites;
  for (const store::BehaviourSite& at : model.run.behaviour_sites) sites[at.behaviour].push_back(at);
  Json list = Json::array();
  for (const std::uint32_t behaviour : behaviours_in_order(model)) {
    std::vector<store::BehaviourSite>& of = sites[behaviour];
    std::ranges::stable_sort(of, {}, [&](const store::BehaviourSite& at) { return places[at.site]; });
    Json rows = Json::array();
    for (const store::BehaviourSite& at : of)
      rows.push_back({{"site", at.site}, {"casts", at.casts}, {"cache_hits", at.hits}});
    list.push_back({{"behaviour", behaviour}, {"sites", std::move(rows)}});
  }
  return list;
}

Json processes_json(const Model& model) {
  Json list = Json::array();
  for (const store::ProcessId id : model.process_order) list.push_back(process_json(model, model.run.processes[id]));
  return list;
}

}  // namespace castscope::report
