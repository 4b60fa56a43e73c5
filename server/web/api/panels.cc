// The routes for the panels around the timeline: findings, sites, modules, steps and what those do.
#include <algorithm>
#include <map>
#include <ranges>

#include "server/report/forms/json.h"
#include "server/report/forms/processes_json.h"
#include "server/report/model/metrics.h"
#include "server/report/text/words.h"
#include "server/store/run/names.h"
#include "server/store/run/step_numbers.h"
#include "server/web/api/list_part.h"
#include "server/web/runs/finding_places.h"

namespace castscope::web {
namespace {

Answer findings(Call& call) {
  ListPart part = list_part(call.parameters);
  if (absl::Status wrong = call.parameters.error(); !wrong.ok()) return wrong;
  const auto snapshot = call.run->snapshot();
  if (!snapshot.ok()) return snapshot.status();
  const report::Model& model = (*snapshot)->model();
  const auto timeline = call.run->timeline();
  const Lines lines((*snapshot)->data());
  part.total = model.findings.size();
  Json all = report::findings_json(model), list = Json::array();
  for (std::size_t i = part.begin(); i < part.end(); ++i) {
    const Lines::Ids* const ids = lines.of(model.findings[i]);
    std::optional<FirstEvent> first = call.run->first_events().find(model.fingerprints[i]);
    if (!first && ids != nullptr && (first = first_event(*ids, *timeline)))
      call.run->first_events().remember(model.fingerprints[i], *first);
    all[i]["first_event_ns"] = first ? Json(first->time) : Json();
    all[i]["track"] = first ? Json(first->track) : Json();
    all[i]["site_ids"] = ids != nullptr ? Json(ids->sites) : Json::array();
    list.push_back(std::move(all[i]));
  }
  return part_answer({{"judgement", (*snapshot)->number()}, {"findings", std::move(list)}}, part, "findings");
}

Json counts_json(const store::Counts& counts) {
  return {{"casts", counts.casts}, {"cache_hits", counts.hits}, {"pass_throughs", counts.passes}, {"kept", counts.kept},
          {"bytes", counts.bytes}, {"cpu_ns", counts.cpu_ns},   {"traced", counts.traced}};
}

Answer sites(Call& call) {
  ListPart part = list_part(call.parameters);
  if (absl::Status wrong = call.parameters.error(); !wrong.ok()) return wrong;
  const auto snapshot = call.run->snapshot();
  if (!snapshot.ok()) return snapshot.status();
  const store::RunData& run = (*snapshot)->data();
  store::Table<store::Counts, store::Site> counts(run.sites.size());
  for (const store::SiteUse& use : run.site_uses) counts[use.site] += use.counts;
  Json list = Json::array();
  part.total = counts.size();
  for (const store::SiteId id : counts.ids() | std::views::drop(part.begin()) | std::views::take(part.limit)) {
    Json one = {{"site", id}};
    one.update(counts_json(counts[id]));
    list.push_back(std::move(one));
  }
  const report::Totals& totals = (*snapshot)->model().totals;
  return part_answer({{"judgement", (*snapshot)->number()},
                      {"sites", std::move(list)},
                      {"totals", counts_json(totals.autocast)},
                      {"beyond_sites", counts_json(totals.beyond_sites)},
                      {"by_cause", report::by_cause_json(totals)}},
                     part, "sites");
}

// One module of a model, with the counts of what happened in it.
struct OfModule {
  std::string type;
  store::Counts counts;
  std::map<std::string, std::uint64_t> computed, cast_to;  // by dtype
};

using Models = std::map<std::string, std::map<std::string, OfModule>>;  // model → path

Models models_of(const store::RunData& run) {
  Models models;
  const auto entry = [&](store::ModuleId id) -> OfModule& {
    const store::Module& module = run.modules[id];
    OfModule& of = models[module.model()][module.path];
    of.type = module.type;
    return of;
  };
  for (const store::SiteUse& use : run.site_uses) {
    const store::Site& site = run.sites[use.site];
    if (site.module == 0) continue;
    OfModule& of = entry(site.module);
    of.counts += use.counts;
    if (use.counts.casts > 0) of.cast_to[std::string(store::dtype_name(site.to))] += use.counts.casts;
  }
  for (const store::UseCount& count : run.use_counts) {
    const store::OperatorUse& use = run.operator_uses[count.use];
    if (use.module == 0 || use.computed == 0xff || count.times == 0) continue;
    entry(use.module).computed[std::string(store::dtype_name(use.computed))] += count.times;
  }
  return models;
}

Answer modules(Call& call) {
  const auto snapshot = call.run->snapshot();
  if (!snapshot.ok()) return snapshot.status();
  Json models = Json::array();
  for (const auto& [model, modules] : models_of((*snapshot)->data())) {
    Json list = Json::array();
    for (const auto& [path, of] : modules) {
      list.push_back({{"module", path},
                      {"module_type", of.type},
                      {"casts", of.counts.casts},
                      {"cache_hits", of.counts.hits},
                      {"cpu_ns", of.counts.cpu_ns},
                      {"bytes", of.counts.bytes},
                      {"calls_by_computed_in", of.computed},
                      {"casts_by_to_dtype", of.cast_to}});
    }
    models.push_back({{"model", model}, {"modules", std::move(list)}});
  }
  return json_answer({{"models", std::move(models)}});
}

Answer steps(Call& call) {
  const auto snapshot = call.run->snapshot();
  if (!snapshot.ok()) return snapshot.status();
  const store::RunData& run = (*snapshot)->data();
  const std::vector<store::NumberedRun> numbered = store::numbered_runs(run);
  std::map<store::ProcessId, Json> of_process;
  for (std::size_t i = 0; i < run.step_runs.size(); ++i) {
    const store::StepRun& step = run.step_runs[i];
    const std::int64_t begin = run.processes[step.process].info.begin_realtime_ns - run.start.start_ns;
    Json& list = of_process.try_emplace(step.process, Json::array()).first->second;
    list.push_back({{"step_kind", store::name(numbered[i].kind)},
                    {"first_number", numbered[i].first_number},
                    {"first_step", step.first},
                    {"last_step", step.last},
                    {"begin_ns", begin + step.begin_ns},
                    {"end_ns", begin + step.end_ns},
                    {"casts", step.casts},
                    {"cache_hits", step.hits},
                    {"bytes", step.bytes},
                    {"cpu_ns", step.cpu_ns},
                    {"most_cleared_bytes", step.cache_bytes},
                    {"behaviour", step.behaviour},
                    {"incomplete", step.incomplete}});
  }
  Json processes = Json::array();
  for (auto& [process, list] : of_process) processes.push_back({{"process", process}, {"step_runs", std::move(list)}});
  return json_answer({{"processes", std::move(processes)}});
}

Answer behaviours(Call& call) {
  const auto snapshot = call.run->snapshot();
  if (!snapshot.ok()) return snapshot.status();
  return json_answer({{"behaviours", report::behaviours_json((*snapshot)->model())}});
}

Answer metrics(Call& call) {
  const auto snapshot = call.run->snapshot();
  if (!snapshot.ok()) return snapshot.status();
  return json_answer({{"metrics", report::metrics_json((*snapshot)->model())}});
}

}  // namespace

void add_panel_routes(std::vector<Route>& routes) {
  routes.push_back({"runs/{run}/findings", {"offset", "limit"}, findings, true});
  routes.push_back({"runs/{run}/sites", {"offset", "limit"}, sites, true});
  routes.push_back({"runs/{run}/modules", {}, modules, true});
  routes.push_back({"runs/{run}/steps", {}, steps, true});
  routes.push_back({"runs/{run}/behaviours", {}, behaviours, true});
  routes.push_back({"runs/{run}/metrics", {}, metrics, true});
}

}  // namespace castscope::web
