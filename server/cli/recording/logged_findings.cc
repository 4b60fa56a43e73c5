#include "server/cli/recording/logged_findings.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/places/finding_processes.h"
#include "server/utf8/utf8.h"

namespace castscope::cli {
namespace {

constexpr std::size_t kMostOfALine = 600;

LogLine::Level level_of(const store::Finding& finding) {
  if (finding.severity == "error") return LogLine::Level::kError;
  return finding.severity == "warning" ? LogLine::Level::kWarning : LogLine::Level::kInfo;
}

std::string one_line(const std::string& text) {
  std::string line = report::on_one_line(utf8::repaired(text));
  if (line.size() <= kMostOfALine) return line;
  return line.substr(0, utf8::cut(line, kMostOfALine)) + "…";
}

std::int64_t size_of(const store::Finding& finding) {
  std::int64_t most = 0;
  for (const auto& [name, number] : finding.evidence_number) most = std::max(most, number);
  return most;
}

std::string process_text(const store::Process& process) {
  const std::string rank = process.attribute("rank");
  return absl::StrCat(process.info.pid, rank.empty() ? "" : absl::StrCat(" (rank ", rank, ")"));
}

// "process 4711 on node1", "8 processes on node1 and 1 other host: 4711 (rank 0), 4712 (rank 1), 4713 (rank 2), …".
std::string processes_text(const store::RunData& data, const std::set<store::ProcessId>& ids) {
  constexpr std::size_t kMostNamed = 3;
  std::vector<std::string> named, hosts;
  for (const store::ProcessId id : ids) {
    const store::Process& process = data.processes[id];
    if (named.size() < kMostNamed) named.push_back(process_text(process));
    if (std::find(hosts.begin(), hosts.end(), process.info.host) == hosts.end()) hosts.push_back(process.info.host);
  }
  if (ids.empty()) return "no process known";
  std::string at = absl::StrCat(" on ", hosts.front());
  if (hosts.size() > 1) absl::StrAppend(&at, " and ", report::counted(hosts.size() - 1, "other host", "other hosts"));
  if (ids.size() == 1) return absl::StrCat("process ", named.front(), at);
  return absl::StrCat(ids.size(), " processes", at, ": ", absl::StrJoin(named, ", "),
                      ids.size() > kMostNamed ? ", …" : "");
}

std::set<store::ProcessId> all_processes(const store::RunData& data) {
  std::set<store::ProcessId> all;
  for (const store::Process& process : data.processes) all.insert(process.id);
  return all;
}

}  // namespace

std::vector<LogLine> LoggedFindings::new_lines(const store::RunData& data, const std::vector<store::Finding>& findings,
                                               bool last) {
  std::vector<LogLine> lines;
  std::map<std::string, int> equals;
  const rules::ProcessesByLine processes(data);
  ++round_;
  for (const store::Finding& finding : findings) {
    const std::string place = report::place(data, finding.location);
    std::string key = absl::StrCat(finding.rule, "\n", place);
    absl::StrAppend(&key, "\n", ++equals[key]);
    auto [at, fresh] = findings_.try_emplace(key);
    KnownFinding& known = at->second;
    known.round = round_;
    if (fresh) {
      known.rule = finding.rule;
      known.place = place;
    }
    if (!(fresh ? register_new(known, finding) : has_grown(known, finding))) continue;
    std::set<store::ProcessId> in = processes.of(finding);
    if (in.empty()) in = all_processes(data);
    lines.push_back(
        {fresh ? level_of(finding) : LogLine::Level::kInfo,
         one_line(absl::StrCat("run ", run_id_, ": ", fresh ? finding.severity : "grown:", " ", finding.rule, " at ",
                               place, ", ", processes_text(data, in), ": ", finding.title))});
  }
  add_withdrawn(lines);
  add_held_back(lines, last);
  return lines;
}

bool LoggedFindings::register_new(KnownFinding& known, const store::Finding& finding) {
  known.size = size_of(finding);
  OfRule& rule = rules_[finding.rule];
  known.said = rule.said < kMostOfARule;
  ++(known.said ? rule.said : rule.held_back);
  return known.said;
}

bool LoggedFindings::has_grown(KnownFinding& known, const store::Finding& finding) {
  const std::int64_t size = size_of(finding);
  OfRule& rule = rules_[finding.rule];
  if (!known.said || known.size <= 0 || size / 10 < known.size || rule.grown >= kMostOfARule) return false;
  ++rule.grown;
  known.size = size;
  return true;
}

void LoggedFindings::add_withdrawn(std::vector<LogLine>& lines) {
  for (auto& [key, known] : findings_) {
    if (known.round == round_ || !known.said || known.withdrawn) continue;
    known.withdrawn = true;
    if (rules_[known.rule].withdrawn++ >= kMostOfARule) continue;
    lines.push_back({LogLine::Level::kInfo,
                     one_line(absl::StrCat("run ", run_id_, ": no longer found: ", known.rule, " at ", known.place))});
  }
}

void LoggedFindings::add_held_back(std::vector<LogLine>& lines, bool last) {
  for (auto& [name, rule] : rules_) {
    // A line is due each time their number has doubled: a handful of lines, however many findings there are.
    const std::uint64_t due = last ? rule.held_back_logged + 1 : std::max<std::uint64_t>(2 * rule.held_back_logged, 1);
    if (rule.held_back < due) continue;
    rule.held_back_logged = rule.held_back;
    lines.push_back(
        {LogLine::Level::kInfo,
         absl::StrCat("run ", run_id_, ": ", report::counted(rule.held_back, "more finding of ", "more findings of "),
                      name, " so far, each at another line, ", "not listed one by one")});
  }
}

}  // namespace castscope::cli
