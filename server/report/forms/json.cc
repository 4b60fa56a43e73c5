#include "server/report/forms/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "server/report/forms/coverage_json.h"
#include "server/report/forms/layers_json.h"
#include "server/report/forms/processes_json.h"
#include "server/report/forms/run_json.h"
#include "server/report/forms/settings_json.h"
#include "server/report/forms/shared_parts.h"
#include "server/report/forms/sites_json.h"
#include "server/report/model/gpu.h"
#include "server/report/model/json_values.h"
#include "server/report/model/metrics.h"
#include "server/report/model/precision.h"
#include "server/report/model/protected_arguments.h"
#include "server/report/modes/comparisons.h"
#include "server/report/modes/compilations.h"
#include "server/report/modes/modes.h"
#include "server/report/text/document.h"
#include "server/report/text/json_rows.h"
#include "server/rules/rules.h"
#include "server/store/run/names.h"

namespace castscope::report {

using Json = nlohmann::ordered_json;
using store::RunData;

Json by_cause_json(const Totals& totals) {
  Json list = Json::array();
  for (std::size_t cause = 0; cause < totals.by_cause.size(); ++cause) {
    const store::Counts& counts = totals.by_cause[cause];
    if (counts.casts == 0) continue;
    list.push_back({{"cause", store::cause_names()[cause]},
                    {"casts", counts.casts},
                    {"bytes", counts.bytes},
                    {"cpu_ns", counts.cpu_ns}});
  }
  return list;
}

namespace {

Json facts_json(const Totals& totals) {
  Json facts = Json::object();
  for (std::size_t kind = 0; kind < totals.by_fact.size(); ++kind)
    if (totals.by_fact[kind] != 0) facts[std::string(store::fact_kind_names()[kind])] = totals.by_fact[kind];
  return facts;
}

Json counts_json(const store::Counts& counts) {
  return {{"casts", counts.casts},   {"cache_hits", counts.hits}, {"pass_throughs", counts.passes},
          {"traced", counts.traced}, {"bytes", counts.bytes},     {"cpu_ns", counts.cpu_ns}};
}

Json totals_json(const Model& model) {
  const Totals& totals = model.totals;
  const Rest& rest = totals.beyond_steps;
  Json json = counts_json(totals.autocast);
  json.update({{"first_cpu_ns", totals.first_ns},
               {"compiled_casts", totals.compiled.casts},
               {"step_count", model.steps},
               {"evaluation_count", model.evaluations},
               {"deep_step_count", model.layers.deep_steps},
               {"events_lost", totals.dropped_events},
               {"by_cause", by_cause_json(totals)},
               {"facts_by_kind", facts_json(totals)},
               {"beyond_sites", counts_json(totals.beyond_sites)},
               {"beyond_regions", counts_json(totals.beyond_regions)},
               {"beyond_steps",
                {{"casts", rest.casts}, {"cache_hits", rest.hits}, {"bytes", rest.bytes}, {"cpu_ns", rest.cpu_ns}}}});
  return json;
}

}  // namespace

Json findings_json(const Model& model) {
  Json list = Json::array();
  for (std::size_t i = 0; i < model.findings.size(); ++i) {
    const rules::Finding& finding = model.findings[i];
    Json evidence = Json::object(), related = Json::array();
    for (const auto& [name, number] : finding.evidence_number) evidence[name] = number;
    for (const auto& [name, text] : finding.evidence_text) evidence[name] = text;
    for (const store::CodeLocation& at : finding.related) related.push_back(location_json(model.run, at));
    list.push_back({{"rule", finding.rule},
                    {"severity", finding.severity},
                    {"harm", rules::name(rules::harm_of(finding))},
                    {"title", finding.title},
                    {"location", location_json(model.run, finding.location)},
                    {"related", related},
                    {"evidence", evidence},
                    {"deep_only", finding.deep_only},
                    {"savings", savings_json(finding.savings)},
                    {"fingerprint", model.fingerprints[i]},
                    {"fix", finding.fix}});
  }
  return list;
}

namespace {

Json source_files_json(const RunData& run) {
  Json list = Json::array();
  for (const auto& [name, file] : run.source.files()) {
    Json lines = Json::array();
    for (const auto& [number, text] : file.lines) lines.push_back({{"line", number}, {"source_text", text}});
    list.push_back({{"file", rules::portable_path(name, run.start.project())},
                    {"source_state", store::name(file.state)},
                    {"source_lines", lines}});
  }
  return list;
}

void add_places(const Model& model, Json& report) {
  SharedParts parts(model.run);
  Json regions = regions_json(model, parts), sites = sites_json(model, parts), layers = layers_json(model, parts);
  parts.add_to(report);
  report["regions"] = std::move(regions);
  report["sites"] = std::move(sites);
  report["pass_through_places"] = pass_through_places_json(model);
  report["layers"] = std::move(layers);
}

}  // namespace

Json to_json(const Model& model) {
  const RunData& data = model.run;
  Json report = {{"root", text_or_null(data.start.project())},
                 {"run", run_json(model)},
                 {"totals", totals_json(model)},
                 {"roles", roles_json(model)},
                 {"model_input", model_input_json(model)},
                 {"cache", cache_json(model.totals.cache)},
                 {"coverage", coverage_json(model)},
                 {"findings", findings_json(model)},
                 {"ignored", {{"by_settings", model.ignored_by_settings}, {"in_code", model.ignored_in_code}}},
                 {"settings", settings_json(model.settings)}};
  add_places(model, report);
  report["weight_products"] = precision_json(data);
  report["operators_by_mode"] = operators_by_mode_json(data);
  report["compilations"] = compilations_json(data);
  report["comparisons"] = comparisons_json(data);
  report["gpus"] = gpu_json(model);
  report["protected_arguments"] = protected_json(data);
  report["metrics"] = metrics_json(model);
  report["step_runs"] = step_runs_json(model);
  report["behaviours"] = behaviours_json(model);
  report["processes"] = processes_json(model);
  report["source_files"] = source_files_json(data);
  return document(kReportForm, report);
}

std::string json_text(const Model& model) { return json_rows(to_json(model)); }

Json to_json(const RunData& data) { return to_json(model_of(data)); }
std::string json_text(const RunData& data) { return json_text(model_of(data)); }

}  // namespace castscope::report
