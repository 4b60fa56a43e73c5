#include "server/report/forms/sarif_results.h"

#include <algorithm>

#include "server/report/forms/sarif_places.h"
#include "server/report/model/json_values.h"
#include "server/report/text/words.h"
#include "server/rules/judgement.h"
#include "server/rules/rules.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;

// Whose findings these are: of this run, or of its baseline, of which no source is known.
struct Owner {
  const store::RunData& run;
  const std::string& project;
  const store::SourceLines* source;
};

Json properties_of(const rules::Finding& finding) {
  Json evidence = Json::object();
  for (const auto& [name, number] : finding.evidence_number) evidence[name] = number;
  for (const auto& [name, text] : finding.evidence_text) evidence[name] = text;
  Json json = {{"severity", finding.severity}, {"evidence", evidence}, {"deep_only", finding.deep_only}};
  if (finding.severity == "performance") json["tags"] = Json::array({"performance"});
  if (finding.savings) json["savings"] = savings_json(finding.savings);
  return json;
}

std::string message_of(const Owner& owner, const rules::Finding& finding) {
  std::string message = finding.title + ".";
  if (!finding.fix.empty()) message += " " + finding.fix;
  if (!finding.location || finding.location->file.empty()) {
    message += " (The line is not known.)";
  } else if (!has_file(finding.location)) {
    message += " (It is at " + place(owner.run, finding.location) + ", which is not a file.)";
  }
  return message;
}

Json related_of(const Owner& owner, const rules::Finding& finding) {
  Json related = Json::array();
  for (const store::CodeLocation& at : finding.related) {
    if (related.size() == kMostSarifRelated) break;
    if (!has_file(at)) continue;
    Json place = sarif_location(owner.project, owner.source, at);
    place["id"] = related.size() + 1;
    place["message"] = {{"text", "belongs to it"}};
    related.push_back(std::move(place));
  }
  return related;
}

Json result_of(const Owner& owner, const rules::Finding& finding, const std::string& fingerprint) {
  Json result = {{"ruleId", finding.rule}};
  const std::span<const rules::Rule* const> all = rules::all_rules();
  const auto rule = std::ranges::find(all, finding.rule, &rules::Rule::name);
  if (rule != all.end()) result["ruleIndex"] = rule - all.begin();
  result["level"] = sarif_level(finding.severity);
  result["message"] = {{"text", message_of(owner, finding)}};
  if (has_file(finding.location)) {
    result["locations"] = Json::array({sarif_location(owner.project, owner.source, *finding.location)});
  } else if (const auto script = stand_in(owner.run)) {
    result["locations"] = Json::array({sarif_location(owner.run.start.project(), &owner.run.source, *script)});
  }
  if (Json related = related_of(owner, finding); !related.empty()) result["relatedLocations"] = std::move(related);
  result["partialFingerprints"] = {{"castscope/v1", fingerprint}};
  result["properties"] = properties_of(finding);
  return result;
}

// A comment speaks for itself; else castscope.json was it.
Json suppression_of(const store::RunData& run, const rules::Finding& finding) {
  const store::CodeLocation at = finding.location.value_or(store::CodeLocation());
  const std::string line(run.source.line(at.file, at.line).value_or(""));
  if (rules::silences(line, finding.rule))
    return {{"kind", "inSource"}, {"justification", rules::directive_comment(line)}};
  return {{"kind", "external"}, {"justification", "castscope.json ignores it"}};
}

void add_state(Json& result, const char* state, bool looked_at, const char* who) {
  result["baselineState"] = state;
  if (!looked_at) result["properties"]["unsure"] = std::string(who) + " " + std::string(kLookedLess);
}

}  // namespace

const char* sarif_level(std::string_view severity) {
  if (severity == "error") return "error";
  return severity == "warning" || severity == "performance" ? "warning" : "note";
}

SarifResults sarif_results(const Model& model, const SinceBaseline* baseline) {
  const Owner owner{model.run, model.run.start.project(), &model.run.source};
  SarifResults results{.list = Json::array()};
  const auto add = [&](Json result, const Json& suppressions) {
    // Either all results of a run say whether they are suppressed, or none (SARIF 3.27.23).
    if (!model.silenced.empty()) result["suppressions"] = suppressions;
    results.list.push_back(std::move(result));
  };
  const auto is_full = [&] { return results.list.size() >= kMostSarifResults ? ++results.left_out > 0 : false; };
  const auto compare = [](Json& result, const AgainstBaseline& of) {
    add_state(result, of.known ? "unchanged" : "new", of.looked_at, "the run of the baseline");
  };
  for (std::size_t i = 0; i < model.findings.size(); ++i) {
    if (is_full()) continue;
    Json result = result_of(owner, model.findings[i], model.fingerprints[i]);
    if (baseline != nullptr) compare(result, baseline->findings[i]);
    add(std::move(result), Json::array());
  }
  for (std::size_t i = 0; i < model.silenced.size(); ++i) {
    if (is_full()) continue;
    Json result = result_of(owner, model.silenced[i], model.silenced_fingerprints[i]);
    if (baseline != nullptr) compare(result, baseline->silenced[i]);
    add(std::move(result), Json::array({suppression_of(model.run, model.silenced[i])}));
  }
  for (std::size_t i = 0; baseline != nullptr && i < baseline->gone.size(); ++i) {
    if (is_full()) continue;
    const GoneFinding& gone = baseline->gone[i];
    Json result = result_of({model.run, baseline->project, nullptr}, gone.finding, gone.fingerprint);
    add_state(result, "absent", gone.looked_at, "this run");
    add(std::move(result), Json::array());
  }
  return results;
}

}  // namespace castscope::report
