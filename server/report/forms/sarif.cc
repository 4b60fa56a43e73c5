#include "server/report/forms/sarif.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/rules.h"
#include "server/utf8/utf8.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "https://json.schemastore.org/sarif-2.1.0.json";
constexpr const char* kRoot = "%SRCROOT%";  // the name that code scanning knows for the checkout

const char* level_of(std::string_view severity) {
  if (severity == "error") return "error";
  return severity == "warning" || severity == "performance" ? "warning" : "note";
}

// GitHub sorts alerts by this property.
const char* problem_severity(std::string_view severity) {
  if (severity == "error") return "error";
  return severity == "warning" ? "warning" : "recommendation";
}

std::string encoded(std::string_view path) {
  std::string uri;
  for (const char c : path) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || std::string_view("-._~/").find(c) != path.npos;
    if (plain) {
      uri += c;
    } else {
      char code[4];
      std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned char>(c));
      uri += code;
    }
  }
  return uri;
}

std::string folder_uri(const std::string& folder) {
  return "file://" + encoded(folder) + (folder.ends_with("/") ? "" : "/");
}

Json artifact(const store::RunData& run, const std::string& file) {
  const auto [uri, relative] = uri_of(run, file);
  if (relative) return {{"uri", uri}, {"uriBaseId", kRoot}};
  return {{"uri", uri}};
}

Json location(const store::RunData& run, const store::CodeLocation& at) {
  Json region = {{"startLine", std::max<std::int64_t>(at.line, 1)}};
  if (const auto text = run.source.line(at.file, at.line)) region["snippet"] = {{"text", *text}};
  Json place = {{"physicalLocation", {{"artifactLocation", artifact(run, at.file)}, {"region", region}}}};
  if (!at.function.empty()) place["logicalLocations"] = Json::array({{{"name", at.function}, {"kind", "function"}}});
  return place;
}

// Code that was typed in, or that Python generated, has no file.
bool has_file(const std::optional<store::CodeLocation>& at) { return at && !at->file.empty() && at->file[0] != '<'; }

// Finds a file of the checkout that ends with one of `endings` and of which a line was seen; "" = none.
std::string seen_file(const store::RunData& run, std::span<const std::string> endings) {
  for (const store::Stack& stack : run.stacks) {
    for (const store::CodeLocation& frame : stack.frames) {
      const bool ends = std::any_of(endings.begin(), endings.end(),
                                    [&](const std::string& ending) { return frame.file.ends_with(ending); });
      if (ends && uri_of(run, frame.file).second && frame.file.find("-packages/") == std::string::npos)
        return frame.file;
    }
  }
  return "";
}

// Code scanning refuses a result without a place: where the line is not known, the script that was run stands in.
// Returns nothing where there is no script: the interpreter is not a file of the checkout.
std::optional<store::CodeLocation> stand_in(const store::RunData& run) {
  const std::vector<std::string>& words = run.start.command;
  std::string file;
  bool is_module = false;  // then a word that ends in .py may be an argument of it
  for (std::size_t i = 0; i < words.size() && file.empty() && words[i] != "-c"; ++i) {
    if (words[i] == "-m" && !is_module && i + 1 < words.size()) {
      is_module = true;
      const std::string path = absl::StrReplaceAll(words[++i], {{".", "/"}});
      file = seen_file(run, std::vector<std::string>{"/" + path + ".py", "/" + path + "/__main__.py"});
    } else if (words[i].ends_with(".py")) {
      file = words[i].starts_with("/") || run.start.cwd.empty() ? words[i] : run.start.cwd + "/" + words[i];
      if (is_module) file = seen_file(run, std::span(&file, 1));
    }
  }
  if (file.empty()) return std::nullopt;
  return store::CodeLocation{.file = file, .function = "", .line = 1};
}

std::string explanation_text(const rules::Explanation& help, bool markdown) {
  const auto head = [&](const char* title) { return markdown ? "**" + std::string(title) + "** " : ""; };
  std::string text = std::string(help.what) + "\n\n" + std::string(help.why);
  if (!help.example.empty()) {
    text += "\n\n" + head("Example.") + (markdown ? "\n\n```python\n" : "\n") + std::string(help.example) +
            (markdown ? "\n```" : "");
  }
  if (!help.fix.empty()) text += "\n\n" + head("Fix.") + std::string(help.fix);
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
               {"defaultConfiguration", {{"level", level_of(rule.severity)}}},
               {"properties", {{"tags", tags}, {"problem.severity", problem_severity(rule.severity)}}}};
  const std::string_view link = help.links.substr(0, help.links.find('\n'));
  if (!link.empty()) json["helpUri"] = link;
  return json;
}

Json properties(const Model& model, const rules::Finding& finding) {
  Json evidence = Json::object();
  for (const auto& [name, number] : finding.evidence_number) evidence[name] = number;
  for (const auto& [name, text] : finding.evidence_text) evidence[name] = text;
  Json json = {{"severity", finding.severity}, {"evidence", evidence}, {"deepOnly", finding.deep_only}};
  if (finding.severity == "performance") json["tags"] = Json::array({"performance"});
  if (const std::string saved = savings_text(finding.savings, model.steps); !saved.empty()) json["savings"] = saved;
  return json;
}

Json result_json(const Model& model, std::size_t i, const std::map<std::string_view, std::size_t>& rule_index) {
  const rules::Finding& finding = model.findings[i];
  std::string message = finding.title + ".";
  if (!finding.fix.empty()) message += " " + finding.fix;
  const bool is_placed = has_file(finding.location);
  if (!finding.location || finding.location->file.empty()) {
    message += " (The line is not known.)";
  } else if (!is_placed) {
    message += " (It is at " + place(model.run, finding.location) + ", which is not a file.)";
  }
  Json result = {{"ruleId", finding.rule}};
  if (const auto index = rule_index.find(finding.rule); index != rule_index.end()) result["ruleIndex"] = index->second;
  result["level"] = level_of(finding.severity);
  result["message"] = {{"text", message}};
  if (const auto at = is_placed ? finding.location : stand_in(model.run))
    result["locations"] = Json::array({location(model.run, *at)});
  Json related = Json::array();
  for (const store::CodeLocation& at : finding.related) {
    if (related.size() == kMostSarifRelated) break;
    if (!has_file(at)) continue;
    Json place = location(model.run, at);
    place["id"] = related.size() + 1;
    place["message"] = {{"text", "belongs to it"}};
    related.push_back(std::move(place));
  }
  if (!related.empty()) result["relatedLocations"] = std::move(related);
  result["partialFingerprints"] = {{"castscope/v1", model.fingerprints[i]}};
  result["properties"] = properties(model, finding);
  return result;
}

Json invocation(const Model& model, std::size_t left_out) {
  const store::RunData& run = model.run;
  // "Successful" is about the analysis: castscope saw the whole run. The end of the job itself is in its exit status
  // and in a note.
  Json json = {{"executionSuccessful", model.complete()}};
  if (!run.start.command.empty()) json["commandLine"] = command_line(run);
  json["startTimeUtc"] = utc(run.start.start_ns);
  if (run.end) json["endTimeUtc"] = utc(run.end->end_ns);
  if (model.exit) json["exitCode"] = *model.exit;
  if (run.end && run.end->signal) json["exitSignalNumber"] = *run.end->signal;
  if (!run.start.cwd.empty()) json["workingDirectory"] = {{"uri", folder_uri(run.start.cwd)}};
  Json notes = Json::array();
  const auto note = [&](const std::string& text) {
    notes.push_back({{"level", "note"}, {"message", {{"text", text}}}});
  };
  if (const std::string failure = failure_text(model); !failure.empty()) note(failure);
  for (const std::string& sentence : model.notices) note(sentence);
  if (const std::string ignored = ignored_text(model); !ignored.empty()) note(ignored);
  if (left_out > 0) note(counted(left_out, "finding is", "findings are") + " left out: code scanning takes no more");
  if (!notes.empty()) json["toolExecutionNotifications"] = std::move(notes);
  return json;
}

}  // namespace

std::pair<std::string, bool> uri_of(const store::RunData& run, const std::string& name) {
  const std::string file = utf8::bytes_of_name(rules::plain_path(name));
  const std::string& project = run.start.project();
  const std::string folder = project.ends_with("/") ? project : project + "/";
  if (file.starts_with(folder)) return {encoded(std::string_view(file).substr(folder.size())), true};
  if (file.starts_with("/")) return {"file://" + encoded(file), false};
  return {encoded(file), true};  // as the job was given it
}

std::string sarif_text(const Model& model) {
  std::map<std::string_view, std::size_t> rule_index;
  Json rules = Json::array(), results = Json::array();
  for (const rules::Rule* rule : rules::all_rules()) {
    rule_index.emplace(rule->name, rules.size());
    rules.push_back(rule_json(*rule));
  }
  const std::size_t told = std::min(model.findings.size(), kMostSarifResults);
  for (std::size_t i = 0; i < told; ++i) results.push_back(result_json(model, i, rule_index));
  Json driver = {{"name", "castscope"}};
  if (!model.run.start.castscope_version.empty()) driver["version"] = model.run.start.castscope_version;
  driver["rules"] = std::move(rules);
  Json run = {{"tool", {{"driver", std::move(driver)}}},
              {"invocations", Json::array({invocation(model, model.findings.size() - told)})}};
  if (const std::string& project = model.run.start.project(); !project.empty())
    run["originalUriBaseIds"] = {{kRoot, {{"uri", folder_uri(project)}}}};
  run["columnKind"] = "utf16CodeUnits";
  run["results"] = std::move(results);
  const Json log = {{"$schema", kSchema}, {"version", "2.1.0"}, {"runs", Json::array({std::move(run)})}};
  return log.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace castscope::report
