#include "server/report/compare/account.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/report/compare/report_part.h"
#include "server/report/findings/fingerprint.h"
#include "server/report/forms/json.h"
#include "server/report/model/model.h"
#include "server/rules/judgement.h"
#include "server/store/read/run_reader.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;

store::CodeLocation location_of(const ReportPart& at) {
  return {at.text_or_empty("file"), at.text_or_empty("function"), static_cast<std::int64_t>(at.number_or_0("line"))};
}

store::Finding finding_of(const ReportPart& part) {
  store::Finding finding;
  finding.rule = part.text("rule");
  finding.severity = part.text("severity");
  if (!rules::is_severity(finding.severity))
    part.complain("severity", absl::StrCat("cannot be: \"", finding.severity, "\" is no severity"));
  finding.title = part.text("title");
  finding.fix = part.text("fix");
  const ReportPart at = part.part("location");
  if (const store::CodeLocation location = location_of(at); !at.is_null("file")) finding.location = location;
  return finding;
}

// Reports of the first castscopes hold no source.
store::SourceLines source_of(const ReportPart& report) {
  store::SourceLines source;
  if (!report.has("source")) return source;
  for (const ReportPart& file : report.parts("source")) {
    store::SourceFile kept;
    kept.file = file.text("file");
    for (const ReportPart& line : file.parts("lines")) kept.lines[line.number("line")] = line.text("text");
    source.add(std::move(kept));
  }
  return source;
}

AccountSite site_of(const ReportPart& part, const store::SourceLines& source, const std::string& project) {
  AccountSite site;
  const store::CodeLocation at = location_of(part.part("location"));
  site.file = portable_path(at.file, project);
  site.function = at.function;
  site.line = at.line;
  const auto text = source.line(at.file, at.line);
  if (at.line > 0) site.text = text ? normalised(*text) : absl::StrCat("line ", at.line);
  site.op = part.text_or_empty("operator");
  site.argument = part.text_or_empty("argument");
  site.phase = part.text("phase");
  site.cause = part.text("cause");
  site.from = part.text("from");
  site.to = part.text("to");
  site.casts = part.count("casts");
  site.hits = part.count("cache_hits");
  site.bytes = part.count("bytes");
  site.cpu_ns = part.count("cpu_ns");
  return site;
}

AccountPrecision precision_of(const ReportPart& part, const std::string& project) {
  const store::CodeLocation at = location_of(part.part("location"));
  AccountPrecision one;
  one.file = portable_path(at.file, project);
  one.function = at.function;
  one.line = at.line;
  one.model = part.text_or_empty("model");
  one.module = part.text_or_empty("module");
  one.op = part.text("operator");
  one.computed = part.text("computed_in");
  one.grad_mode = part.flag("grad_mode");
  one.calls = part.count("calls");
  return one;
}

void read_numbers(const ReportPart& report, Account& account) {
  const ReportPart totals = report.part("totals"), cache = report.part("cache"), steps = report.part("steps");
  account.casts = totals.count("casts");
  account.hits = totals.count("cache_hits");
  account.passes = totals.count("pass_through");
  account.bytes = totals.count("bytes");
  account.cpu_ns = totals.count("cpu_ns");
  account.cache_peak_bytes = cache.count("peak_bytes");
  account.cache_peak_entries = cache.count("peak_entries");
  account.steps = steps.count("count");
  for (const ReportPart& run : steps.parts("runs")) {
    const std::int64_t begin = run.number("begin_ns"), end = run.number("end_ns");
    // Unsigned, where no difference is too large.
    if (end > begin) account.steps_ns += static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
  }
}

// What a report's own run was silenced by stays silenced; these settings come on top.
void read_findings(const ReportPart& report, const rules::Settings& settings, const store::SourceLines& source,
                   Account& account) {
  if (report.has("ignored")) {
    account.ignored_by_settings = report.part("ignored").count("by_settings");
    account.ignored_in_code = report.part("ignored").count("in_code");
  }
  std::vector<store::Finding> all;
  for (const ReportPart& part : report.parts("findings")) {
    store::Finding finding = finding_of(part);
    if (!settings.selects(finding.rule)) continue;
    const auto set = settings.severity.find(finding.rule);
    if (set != settings.severity.end()) finding.severity = set->second;
    all.push_back(std::move(finding));
  }
  rules::Judgement judgement = rules::sort_out(std::move(all), settings, source, account.project);
  account.ignored_by_settings += judgement.ignored_by_settings;
  account.ignored_in_code += judgement.ignored_in_code;
  account.findings = std::move(judgement.findings);
  account.fingerprints = fingerprints(account.findings, source, account.project);
}

// null: not known, as of a run that was never closed, which `complete` tells.
std::string failure_of(const ReportPart& run) {
  if (run.has("signal") && !run.is_null("signal")) return absl::StrCat("signal ", run.number("signal"));
  const std::int64_t status = run.number_or_0("exit");
  return status == 0 ? "" : absl::StrCat("exit status ", status);
}

void read_run(const ReportPart& run, Account& account) {
  account.command = absl::StrJoin(run.texts("command"), " ");
  account.run_folder = run.text("cwd");
  account.project = run.has("checkout") ? run.text_or_empty("checkout") : "";
  if (account.project.empty()) account.project = account.run_folder;
  account.complete = run.flag("complete");
  if (run.has("damage")) account.damage = run.text("damage");
  account.failure = failure_of(run);
  account.notices = run.texts("notices");
}

absl::StatusOr<Account> read_report(const std::string& file, const std::string& text, const rules::Settings& settings) {
  const Json report = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (report.is_discarded())
    return absl::DataLossError(
        absl::StrCat(file, " is neither a run file nor a report: it is no JSON, or was cut short"));
  return account_of(report, file, settings);
}

}  // namespace

absl::StatusOr<Account> account_of(const Json& report, const std::string& name, const rules::Settings& settings) {
  if (!report.is_object() || !report.contains("format") || !report.contains("run"))
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is no report of castscope: give a run file (NAME.castscope) or its report (NAME.json)"));
  const Json& format = report.at("format");
  if (format != 1)
    return absl::InvalidArgumentError(absl::StrCat(name, " is a report of format ", format.dump(),
                                                   ", and this castscope knows format 1: make it again from its run "
                                                   "file, or use the castscope that made it"));
  std::string wrong;
  const ReportPart whole(report, "", wrong);
  Account account;
  account.name = name;
  read_run(whole.part("run"), account);
  account.processes = whole.parts("processes").size();
  read_numbers(whole, account);
  const store::SourceLines source = source_of(whole);
  read_findings(whole, settings, source, account);
  for (const ReportPart& site : whole.parts("sites")) account.sites.push_back(site_of(site, source, account.project));
  if (whole.has("precision")) {
    for (const ReportPart& one : whole.parts("precision"))
      account.precision.push_back(precision_of(one, account.project));
  }
  if (wrong.empty()) return account;
  return absl::InvalidArgumentError(absl::StrCat(name, " is no whole report of castscope: ", wrong));
}

std::vector<std::string> why_incomplete(const Account& account) {
  std::vector<std::string> all;
  if (!account.damage.empty())
    all.push_back(account.damage);
  else if (account.processes == 0)
    all.emplace_back("nothing was observed: no process with PyTorch was seen");
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
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return absl::NotFoundError(absl::StrCat(file, " cannot be read: ", std::strerror(errno)));
  constexpr std::string_view kSqlite = "SQLite format 3";
  std::string begin(kSqlite.size(), '\0');
  stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (stream && begin == kSqlite) {
    const absl::StatusOr<store::RunData> data = store::read_as_it_is(file);
    if (!data.ok()) return data.status();
    return account_of(to_json(model_of(*data, rules::judgement_of(*data, settings))), file, rules::Settings());
  }
  begin.resize(static_cast<std::size_t>(stream.gcount()));
  if (begin.empty()) return absl::DataLossError(absl::StrCat(file, " is empty"));
  stream.clear();  // what follows is read on: a pipe cannot be read again
  const std::string rest((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  return read_report(file, begin + rest, settings);
}

}  // namespace castscope::report
