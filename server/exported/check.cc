#include "server/exported/check.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "server/exported/findings.h"
#include "server/exported/program/stack_trace.h"
#include "server/exported/run_dtypes.h"
#include "server/exported/summary.h"
#include "server/judging/source_reader.h"
#include "server/report/findings/fingerprint.h"
#include "server/rules/judgement.h"

namespace castscope::exported {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kDecomposed[] =
    "run_decompositions made this program: if it was exported inside an autocast region, only the dtypes that it "
    "computes in still show that";

void add_lines(const Graph& graph, std::map<std::string, store::SourceFile>& files) {
  for (const Node& node : graph.nodes) {
    if (node.place && !node.place->text.empty()) {
      store::SourceFile& file = files[node.place->at.file];
      file.file = node.place->at.file;
      file.lines[node.place->at.line] = node.place->text;
    }
    for (const Argument& argument : node.arguments) {
      if (argument.graph != nullptr) add_lines(*argument.graph, files);
    }
  }
}

std::string_view code_of(std::string_view line) {
  line.remove_suffix(rules::directive_comment(line).size());
  return stripped(line);
}

// Takes the line as it is on the disk, if it is still the line that was exported.
void refresh_line(store::SourceFile& file, std::int64_t number) {
  store::RunData any_time;
  any_time.start.start_ns = std::numeric_limits<std::int64_t>::max();
  const store::SourceFile on_disk = judging::read_whole(any_time, file.file);
  const auto known = file.lines.find(number);
  const auto now = on_disk.lines.find(number);
  if (known == file.lines.end() || now == on_disk.lines.end()) return;
  if (code_of(known->second) == code_of(now->second)) known->second = now->second;
}

store::SourceLines source_of(const Package& package, const std::vector<store::Finding>& findings) {
  std::map<std::string, store::SourceFile> files;
  for (const Program& program : package.programs) add_lines(program.graph, files);
  for (const store::Finding& finding : findings) {
    if (!finding.location) continue;
    const auto file = files.find(finding.location->file);
    if (file != files.end()) refresh_line(file->second, finding.location->line);
  }
  store::SourceLines source;
  for (auto& [name, file] : files) source.add(std::move(file));
  return source;
}

void judge_findings(const Package& package, std::vector<store::Finding> all, const rules::Settings& settings,
                    report::Account& account) {
  std::vector<store::Finding> selected;
  for (store::Finding& finding : all) {
    if (!settings.selects(finding.rule)) continue;
    const auto set = settings.severity.find(finding.rule);
    if (set != settings.severity.end()) finding.severity = set->second;
    selected.push_back(std::move(finding));
  }
  const store::SourceLines source = source_of(package, selected);
  rules::Judgement judgement = rules::sort_out(std::move(selected), settings, source, account.project);
  account.ignored_by_settings = judgement.ignored_by_settings;
  account.ignored_in_code = judgement.ignored_in_code;
  account.findings = std::move(judgement.findings);
  account.fingerprints = report::fingerprints(account.findings, source, account.project);
  for (std::string& hint : judgement.hints) account.notices.push_back(std::move(hint));
}

}  // namespace

Checked check(const Package& package, const rules::Settings& settings, const std::string& project,
              const report::Gate& gate, int width) {
  Checked checked;
  report::Account& account = checked.account;
  account.name = package.file;
  account.project = project;
  account.complete = true;
  account.processes = 1;
  std::vector<store::Finding> findings;
  std::string summaries;
  Json programs = Json::array();
  for (const Program& program : package.programs) {
    const Walk walked = walk(program);
    for (store::Finding& finding : findings_of(program, walked)) findings.push_back(std::move(finding));
    const Summary summary = summary_of(program, walked);
    summaries += "\n" + summary_text(summary, project, width);
    programs.push_back(summary_json(summary, project));
    if (summary.decomposed && account.notices.empty()) account.notices.emplace_back(kDecomposed);
  }
  judge_findings(package, std::move(findings), settings, account);
  checked.verdict = report::examine(account, gate);
  for (const std::string& sentence : package.not_seen) checked.verdict.incomplete.push_back(sentence);
  if (!package.not_seen.empty() && !gate.allow_incomplete && checked.verdict.outcome == report::Outcome::kClean)
    checked.verdict.outcome = report::Outcome::kIncomplete;
  account.complete = package.not_seen.empty();
  checked.text = report::verdict_text(account, gate, checked.verdict, nullptr, {settings.file, width}) + summaries;
  checked.json = report::verdict_json(account, gate, checked.verdict, nullptr);
  checked.json["programs"] = std::move(programs);
  return checked;
}

}  // namespace castscope::exported
