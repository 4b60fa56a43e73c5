#include "server/report/compare/account.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/files/plain_file.h"
#include "server/judging/judged_run.h"
#include "server/report/compare/pipe_input.h"
#include "server/report/findings/fingerprint.h"
#include "server/report/model/model.h"
#include "server/rules/rules.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

// A report is an object of JSON; some editors put a mark before it that says that it is UTF-8.
bool may_begin_report(std::string_view begin) {
  if (begin.starts_with("\xef\xbb\xbf")) begin.remove_prefix(3);
  const std::size_t first = begin.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && begin[first] == '{';
}

absl::Status no_report(const std::string& file) {
  return absl::DataLossError(
      absl::StrCat(file, " is neither a run file nor a report: it is not JSON, or was cut short"));
}

absl::Status too_large(const std::string& file) {
  return absl::DataLossError(
      absl::StrCat(file, " is no report: it has more than ", kMostReportBytes >> 20, " MiB, and a report has less"));
}

absl::StatusOr<Account> read_report(const std::string& file, const std::string& text, const rules::Settings& settings) {
  const auto report = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (report.is_discarded()) return no_report(file);
  return account_of(report, file, settings);
}

// What a run has of the code of another run's finding.
struct Code {
  bool has_line = false;                  // the line casts in the other run: `sites` are those of this line alone
  std::vector<const AccountSite*> sites;  // otherwise those of its function
};

Code code_of(const store::Finding& finding, const Account& found_in, const Account& account) {
  Code code;
  const std::string file = portable_path(finding.location->file, found_in.project);
  const auto at = std::ranges::find_if(found_in.sites, [&](const AccountSite& site) {
    return site.file == file && site.line == finding.location->line;
  });
  code.has_line = at != found_in.sites.end();
  for (const AccountSite& site : account.sites) {
    const bool is_of_it = code.has_line ? site.function == at->function && site.text == at->text
                                        : site.function == finding.location->function;
    if (site.file == file && is_of_it) code.sites.push_back(&site);
  }
  return code;
}

// Returns true if a rule that judged a part of the run judged this code.
bool was_in_that_part(const rules::Rule* rule, const Code& code, const Account& account) {
  if (rule != nullptr && (rule->sees & rules::kEvents) != 0 && account.lacks_events) return false;
  if (code.sites.empty()) return !account.left_out_new_code && !account.lacks_sites;
  return (rule != nullptr && !rule->sees_operators()) || std::ranges::all_of(code.sites, &AccountSite::looked_at);
}

}  // namespace

void note_files_with_text(const store::SourceLines& source, Account& account) {
  for (const auto& [name, file] : source.files())
    if (!file.lines.empty()) account.files_with_text.insert(portable_path(name, account.project));
}

void add_rule(Account& account, AccountRule rule) {
  if (rule.judged == rules::name(rules::Judged::kFull)) return;
  const bool sampled = rule.judged == rules::name(rules::Judged::kSampled);
  (sampled ? account.sampled : account.unjudged).push_back(std::move(rule));
}

std::string_view AccountSite::known_text() const {
  return text == absl::StrCat("line ", line) ? std::string_view() : std::string_view(text);
}

void note_lines(const store::SourceLines& source, Account& account) {
  for (const store::Finding& finding : account.findings) {
    const auto text = finding.location ? source.line(finding.location->file, finding.location->line) : std::nullopt;
    account.lines.push_back(text ? normalised(*text) : "");
  }
}

void add_metric(Account& account, AccountMetric metric) {
  if (std::ranges::find(account.metrics, metric.name, &AccountMetric::name) == account.metrics.end())
    account.metrics.push_back(std::move(metric));
}

bool cuts_short(std::string_view incomplete_reason) {
  return incomplete_reason != store::name(store::IncompleteReason::kEventsMissing);
}

void note_reach(Account& account, const AccountRule& of) {
  const rules::Rule* rule = rules::find_rule(of.rule);
  if (rule == nullptr || of.judged != rules::name(rules::Judged::kPartly)) return;
  account.lacks_events |= rule->sees == rules::kEvents;
}

bool could_find(const Account& account, const Account& found_in, const store::Finding& finding) {
  if (account.is_cut_short) return false;
  const Code code = finding.location ? code_of(finding, found_in, account) : Code();
  if (code.has_line && code.sites.empty()) return !account.lacks_sites;
  const rules::Rule* rule = rules::find_rule(finding.rule);
  const bool judges_steps = rule != nullptr && rule->sees_operators();
  if (judges_steps && account.skipped_steps == true && found_in.skipped_steps == false) return false;
  const auto of = std::ranges::find(account.unjudged, finding.rule, &AccountRule::rule);
  if (of == account.unjudged.end()) return true;
  return of->judged != rules::name(rules::Judged::kNot) && was_in_that_part(rule, code, account);
}

std::optional<std::string> how_steps_differ(const Account& account, const Account& other) {
  if (account.skipped_steps != true || other.skipped_steps != true || account.deep == other.deep) return std::nullopt;
  if (account.deep.empty() || other.deep.empty()) return std::nullopt;
  const auto setting = [](const Account& of) {
    return of.deep == "automatic" ? std::string("without --deep") : "with --deep " + of.deep;
  };
  return absl::StrCat("some steps were looked at ", setting(account), ", and in ", other.name, " some others ",
                      setting(other));
}

std::vector<std::string> why_incomplete(const Account& account) {
  std::vector<std::string> all;
  if (!account.damage.empty())
    all.push_back(account.damage);
  else if (account.processes == 0)
    all.emplace_back("nothing was observed: no process was seen that used PyTorch's autocast");
  else if (!account.complete)
    all.emplace_back("not all of the run was seen");
  if (!account.failure.empty())
    all.push_back(absl::StrCat("the job failed (", account.failure, "): what it did not come to was not seen"));
  return all;
}

absl::StatusOr<Account> read_account(const std::string& file, const rules::Settings& settings) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error))
    return absl::NotFoundError(absl::StrCat(file, " is a folder: give a run file or a report in it"));
  if (std::filesystem::is_character_file(file, error))
    return absl::NotFoundError(absl::StrCat(file, " is a device: give a run file or a report"));
  if (is_pipe(file)) {
    const auto text = read_pipe(file, kMostReportBytes);
    if (!text.ok()) return text.status();
    if (text->empty()) return absl::DataLossError(absl::StrCat(file, " is empty"));
    if (text->size() > kMostReportBytes) return too_large(file);
    return read_report(file, *text, settings);
  }
  const absl::StatusOr<files::PlainFile> plain = files::PlainFile::open(file);
  if (!plain.ok()) return absl::NotFoundError(absl::StrCat(file, " cannot be read: ", plain.status().message()));
  constexpr std::string_view kSqlite = "SQLite format 3";
  const std::string begin = plain->begin(kSqlite.size()).value_or("");
  if (begin == kSqlite) {
    const absl::StatusOr<judging::JudgedRunPtr> run = judging::read_and_judge(file, settings);
    if (!run.ok()) return run.status();
    return account_of(model_of(**run), file);
  }
  if (begin.empty()) return absl::DataLossError(absl::StrCat(file, " is empty"));
  if (!may_begin_report(begin)) return no_report(file);
  const absl::StatusOr<std::string> text = plain->text(kMostReportBytes);
  if (absl::IsOutOfRange(text.status())) return too_large(file);
  if (!text.ok()) return absl::NotFoundError(absl::StrCat(file, " cannot be read: ", text.status().message()));
  return read_report(file, *text, settings);
}

}  // namespace castscope::report
