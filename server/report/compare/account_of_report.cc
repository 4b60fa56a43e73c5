#include "server/report/compare/account.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/report/compare/report_part.h"
#include "server/report/findings/fingerprint.h"
#include "server/rules/judgement.h"

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
    part.complain("severity", absl::StrCat("cannot be: \"", finding.severity, "\" is not a severity"));
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
  if (part.has("looked_at") && !part.is_null("looked_at")) site.looked_at = part.flag("looked_at");
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
    // The numbers are unsigned, so that no difference overflows.
    if (end > begin) account.steps_ns += static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
  }
}

// A finding that the report's own run silenced stays silenced; these settings silence further ones.
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

// null means that the end is not known, as for a run that was never closed; `complete` says that.
std::string failure_of(const ReportPart& run) {
  if (run.has("signal") && !run.is_null("signal")) return absl::StrCat("signal ", run.number("signal"));
  const std::int64_t status = run.number_or_0("exit");
  return status == 0 ? "" : absl::StrCat("exit status ", status);
}

void read_coverage(const ReportPart& coverage, const rules::Settings& settings, Account& account) {
  account.left_out_new_code = coverage.count("new_code_left_out") > 0;
  for (const ReportPart& part : coverage.parts("rules")) {
    const AccountRule of{part.text("rule"), part.text("judged"), part.text_or_empty("because")};
    if (of.judged != rules::name(rules::Judged::kFull) && settings.selects(of.rule)) account.unjudged.push_back(of);
  }
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

}  // namespace

absl::StatusOr<Account> account_of(const Json& report, const std::string& name, const rules::Settings& settings) {
  if (!report.is_object() || !report.contains("format") || !report.contains("run"))
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is not a castscope report: give a run file (NAME.castscope) or its report (NAME.json)"));
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
  if (whole.has("coverage")) read_coverage(whole.part("coverage"), settings, account);
  if (wrong.empty()) return account;
  return absl::InvalidArgumentError(absl::StrCat(name, " is not a complete castscope report: ", wrong));
}

}  // namespace castscope::report
