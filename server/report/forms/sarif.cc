#include "server/report/forms/sarif.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/report/forms/sarif_places.h"
#include "server/report/forms/sarif_results.h"
#include "server/report/text/words.h"
#include "server/rules/rules.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "https://json.schemastore.org/sarif-2.1.0.json";

// GitHub sorts alerts by this property.
const char* problem_severity(std::string_view severity) {
  if (severity == "error") return "error";
  return severity == "warning" ? "warning" : "recommendation";
}

std::string explanation_text(const rules::Explanation& help, bool markdown) {
  const auto head = [&](const char* title) { return markdown ? "**" + std::string(title) + "** " : ""; };
  std::string text = std::string(help.what) + "\n\n" + std::string(help.why);
  const auto add_program = [&](const char* title, std::string_view program) {
    if (program.empty()) return;
    text +=
        "\n\n" + head(title) + (markdown ? "\n\n```python\n" : "\n") + std::string(program) + (markdown ? "\n```" : "");
  };
  add_program("Example.", help.example);
  if (!help.fix.empty()) text += "\n\n" + head("Fix.") + std::string(help.fix);
  add_program("Example, fixed.", help.fixed_example);
  if (!help.links.empty()) text += "\n\n" + std::string(help.links);
  return text;
}

Json rule_json(const rules::Rule& rule) {
  const rules::Explanation& help = rule.explanation;
  Json tags = Json::array({"pytorch", "autocast"});
  if (rule.severity == "performance") tags.push_back("performance");
  Json json = {{"id", rule.name},
               {"shortDescription", {{"text", rule.summary}}},
               {"fullDescription", {{"text", help.what.empty() ? rule.summary : help.what}}},
               {"help", {{"text", explanation_text(help, false)}, {"markdown", explanation_text(help, true)}}},
               {"defaultConfiguration", {{"level", sarif_level(rule.severity)}}},
               {"properties", {{"tags", tags}, {"problem.severity", problem_severity(rule.severity)}}}};
  const std::string_view link = help.links.substr(0, help.links.find('\n'));
  if (!link.empty()) json["helpUri"] = link;
  return json;
}

Json note(const std::string& text) { return {{"level", "note"}, {"message", {{"text", text}}}}; }

Json execution_notes(const Model& model, std::size_t left_out) {
  Json notes = Json::array();
  if (const std::string failure = failure_text(model); !failure.empty()) notes.push_back(note(failure));
  if (!model.observed) notes.push_back(note("nothing was observed: no process was seen that used PyTorch's autocast"));
  for (const std::string& sentence : model.notices) notes.push_back(note(sentence));
  if (const std::string ignored = ignored_text(model); !ignored.empty()) notes.push_back(note(ignored));
  if (left_out > 0)
    notes.push_back(note(counted(left_out, "finding is", "findings are") + " left out: code scanning takes no more"));
  return notes;
}

// A rule that could not judge all of the run found nothing, or less than there is, and its silence means nothing.
void add_rules(const Model& model, Json& invocation) {
  Json notes = Json::array(), overrides = Json::array();
  for (std::size_t i = 0; i < model.rules.size(); ++i) {
    const rules::JudgedRule& of = model.rules[i];
    if (of.judged <= rules::Judged::kSampled) continue;
    const Json rule = {{"id", of.rule->name}, {"index", i}};
    if (of.deselected) {
      overrides.push_back({{"descriptor", rule}, {"configuration", {{"enabled", false}}}});
      continue;
    }
    const char* const how =
        of.judged == rules::Judged::kNot ? " could not judge the run: " : " judged part of the run: ";
    Json told = note(absl::StrCat(std::string(of.rule->name), how, of.because));
    told["associatedRule"] = rule;
    notes.push_back(std::move(told));
  }
  if (!overrides.empty()) invocation["ruleConfigurationOverrides"] = std::move(overrides);
  if (!notes.empty()) invocation["toolConfigurationNotifications"] = std::move(notes);
}

Json invocation(const Model& model, std::size_t left_out) {
  const store::RunData& run = model.run;
  // "Successful" is about the analysis: castscope saw the whole run, and there was something to see. The end of the job
  // itself is in its exit status and in a note.
  Json json = {{"executionSuccessful", model.complete() && model.observed}};
  if (!run.start.command.empty()) json["commandLine"] = command_line(run);
  json["startTimeUtc"] = utc(run.start.start_ns);
  if (run.end) json["endTimeUtc"] = utc(run.end->end_ns);
  if (model.exit) json["exitCode"] = *model.exit;
  if (run.end && run.end->signal) json["exitSignalNumber"] = *run.end->signal;
  if (!run.start.cwd.empty()) json["workingDirectory"] = {{"uri", folder_uri(run.start.cwd)}};
  add_rules(model, json);
  if (Json notes = execution_notes(model, left_out); !notes.empty())
    json["toolExecutionNotifications"] = std::move(notes);
  return json;
}

// An absolute URI of the place that Git calls `origin`: "git@host:a/b.git" and "/srv/b.git" are none yet.
std::string repository_uri(const std::string& origin) {
  if (absl::StrContains(origin, "://")) return origin;
  if (origin.starts_with("/")) return "file://" + origin;
  const std::size_t colon = origin.find(':');
  return colon == std::string::npos || origin.find('/') < colon
             ? ""
             : absl::StrCat("ssh://", origin.substr(0, colon), "/", origin.substr(colon + 1));
}

// SARIF wants to know the repository; without it the commit says nothing.
Json provenance(const store::RunStart& start) {
  const std::string uri = repository_uri(start.git.origin);
  if (uri.empty() || start.git.commit.empty()) return nullptr;
  Json json = {{"repositoryUri", uri}, {"revisionId", start.git.commit}};
  if (!start.git.branch.empty()) json["branch"] = start.git.branch;
  json["mappedTo"] = {{"uriBaseId", kSarifRoot}};
  if (start.git.dirty) json["properties"] = {{"git_dirty", *start.git.dirty}};
  return Json::array({std::move(json)});
}

// What lies before the last slash is the category: uploads of one category replace each other.
std::string automation_id(const store::RunData& run, const std::string& category) {
  if (!category.empty()) return category + "/";
  const auto script = stand_in(run);
  const std::vector<std::string>& command = run.start.command;
  std::filesystem::path name;
  if (script)
    name = std::filesystem::path(uri_of(run.start.project(), script->file).first).stem();
  else if (!command.empty())
    name = std::filesystem::path(command[0]).filename();
  return name.empty() ? "castscope/" : absl::StrCat("castscope/", name.string(), "/");
}

}  // namespace

std::string sarif_text(const Model& model, const SarifOptions& options) {
  Json rules = Json::array();
  for (const rules::Rule* rule : rules::all_rules()) rules.push_back(rule_json(*rule));
  SarifResults results = sarif_results(model, options.baseline);
  Json driver = {{"name", "castscope"}};
  if (!model.run.start.castscope_version.empty()) driver["version"] = model.run.start.castscope_version;
  driver["rules"] = std::move(rules);
  Json run = {{"tool", {{"driver", std::move(driver)}}},
              {"automationDetails", {{"id", automation_id(model.run, options.category)}}},
              {"invocations", Json::array({invocation(model, results.left_out)})}};
  if (Json from = provenance(model.run.start); !from.is_null()) run["versionControlProvenance"] = std::move(from);
  if (const std::string& project = model.run.start.project(); !project.empty())
    run["originalUriBaseIds"] = {{kSarifRoot, {{"uri", folder_uri(project)}}}};
  run["columnKind"] = "utf16CodeUnits";
  run["results"] = std::move(results.list);
  const Json log = {{"$schema", kSchema}, {"version", "2.1.0"}, {"runs", Json::array({std::move(run)})}};
  return log.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace castscope::report
