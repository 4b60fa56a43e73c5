#include "server/report/compare/account.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/report/compare/account_operators.h"
#include "server/report/compare/format_1.h"
#include "server/report/compare/report_part.h"
#include "server/report/findings/fingerprint.h"
#include "server/rules/judgement.h"
#include "server/store/run/names.h"

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

store::SourceLines source_of(const ReportPart& report) {
  store::SourceLines source;
  for (const ReportPart& file : report.parts("source_files")) {
    store::SourceFile kept;
    kept.file = file.text("file");
    for (const ReportPart& line : file.parts("source_lines"))
      kept.lines[line.number("line")] = line.text("source_text");
    source.add(std::move(kept));
  }
  return source;
}

// The lists that sites refer to.
struct SharedLists {
  explicit SharedLists(const ReportPart& report)
      : frames(report.parts("frames")), stacks(report.parts("stacks")), call_sites(report.parts("call_sites")) {}

  store::CodeLocation location(const ReportPart& site) const {
    const auto stack = site.referred("stack_index", stacks);
    const auto frame = stack ? stack->referred("frame_index", frames) : std::nullopt;
    return frame ? location_of(*frame) : store::CodeLocation();
  }

  std::vector<ReportPart> frames, stacks, call_sites;
};

AccountSite site_of(const ReportPart& part, const SharedLists& lists, const store::SourceLines& source,
                    const std::string& project) {
  AccountSite site;
  const store::CodeLocation at = lists.location(part);
  site.file = portable_path(at.file, project);
  site.function = at.function;
  site.line = at.line;
  const auto text = source.line(at.file, at.line);
  if (at.line > 0) site.text = text ? normalised(*text) : absl::StrCat("line ", at.line);
  if (const auto call_site = part.referred("call_site_index", lists.call_sites)) {
    site.op = call_site->text_or_empty("operator");
    site.argument = call_site->text_or_empty("argument");
  }
  site.phase = part.text("phase");
  site.cause = part.text("cause");
  site.from = part.text("from_dtype");
  site.to = part.text("to_dtype");
  site.casts = part.count("casts");
  site.hits = part.count_or_0("cache_hits");
  site.bytes = part.count_or_0("bytes");
  site.cpu_ns = part.count_or_0("cpu_ns");
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
  const ReportPart totals = report.part("totals"), cache = report.part("cache");
  account.casts = totals.count("casts");
  account.hits = totals.count("cache_hits");
  account.passes = totals.count("pass_throughs");
  account.bytes = totals.count("bytes");
  account.cpu_ns = totals.count("cpu_ns");
  account.cache_peak_bytes = cache.count("cache_peak_bytes");
  account.cache_peak_entries = cache.count("cache_peak_entries");
  account.steps = totals.count("step_count");
  if (totals.has("beyond_sites")) {
    const ReportPart beyond = totals.part("beyond_sites");
    account.lacks_sites = beyond.count_or_0("casts") + beyond.count_or_0("cache_hits") > 0;
  }
  for (const ReportPart& run : report.parts("step_runs")) {
    const std::int64_t begin = run.number("begin_ns"), end = run.number("end_ns");
    // The numbers are unsigned, so that no difference overflows.
    if (end > begin) account.steps_ns += static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
  }
}

// A finding that the report's own run silenced stays silenced; these settings silence further ones.
void read_findings(const ReportPart& report, const rules::Settings& settings, const store::SourceLines& source,
                   Account& account) {
  account.ignored_by_settings = report.part("ignored").count("by_settings");
  account.ignored_in_code = report.part("ignored").count("in_code");
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
  note_lines(source, account);
}

// Older reports have none.
void read_metrics(const ReportPart& report, Account& account) {
  if (!report.has("metrics")) return;
  for (const ReportPart& one : report.parts("metrics"))
    add_metric(account, {.name = one.text("metric_name"),
                         .first = one.real_or_nothing("first_value"),
                         .last = one.real_or_nothing("last_value")});
}

// null means that the end is not known, as for a run that was never closed; `complete` says that.
std::string failure_of(const ReportPart& run) {
  if (run.has("signal") && !run.is_null("signal")) return absl::StrCat("signal ", run.number("signal"));
  const std::int64_t status = run.number_or_0("exit_status");
  return status == 0 ? "" : absl::StrCat("exit status ", status);
}

// `ignored`: rules of which the run's own settings left out all findings.
void read_coverage(const ReportPart& coverage, const std::vector<std::string>& ignored, const rules::Settings& settings,
                   Account& account) {
  account.left_out_new_code = coverage.count("new_code_left_out") > 0;
  if (!coverage.has("first_step_not_looked_at")) coverage.complain("first_step_not_looked_at", "is missing");
  account.skipped_steps = !coverage.is_null("first_step_not_looked_at");
  const auto judged = coverage.parts("rules");
  if (judged.empty()) coverage.complain("rules", "names no rule, so nothing was judged");
  for (const ReportPart& part : judged) {
    AccountRule rule{part.text("rule"), part.text("judged"), part.text_or_empty("because")};
    note_reach(account, rule);
    if (std::ranges::find(ignored, rule.rule) != ignored.end())
      rule = {rule.rule, std::string(rules::name(rules::Judged::kNot)), "castscope.json ignored it"};
    if (settings.selects(rule.rule) && !settings.ignores(rule.rule)) add_rule(account, std::move(rule));
  }
}

std::vector<std::string> ignored_rules(const ReportPart& report) {
  if (!report.has("settings")) return {};
  const ReportPart settings = report.part("settings");
  return settings.has("ignored_rules") ? settings.texts("ignored_rules") : std::vector<std::string>();
}

bool is_about_the_end(std::string_view reason) {
  return reason == store::name(store::IncompleteReason::kRunNotEnded) ||
         reason == store::name(store::IncompleteReason::kRunEndNotSeen);
}

// A report of a newer castscope may have reasons that are not known here, and says each in a sentence. The notices of
// older ones have all sentences.
void read_missing(const ReportPart& run, Account& account) {
  for (const ReportPart& one : run.parts("missing")) {
    if (!one.has("incomplete_reason") || !one.has("sentence")) continue;
    const std::string reason = one.text_or_empty("incomplete_reason"), sentence = one.text_or_empty("sentence");
    account.is_cut_short |= cuts_short(reason);
    if (!is_about_the_end(reason) && !sentence.empty() &&
        std::ranges::find(account.notices, sentence) == account.notices.end())
      account.notices.push_back(sentence);
  }
}

void read_run(const ReportPart& run, Account& account) {
  account.command = absl::StrJoin(run.texts("command"), " ");
  account.run_folder = run.text("cwd");
  account.complete = run.flag("complete") && (!run.has("missing") || run.parts("missing").empty());
  if (run.has("damage")) account.damage = run.text_or_empty("damage");
  account.failure = failure_of(run);
  account.is_cut_short |= !account.failure.empty() || (!account.complete && !run.has("missing"));
  if (run.has("recording")) account.deep = run.part("recording").text_or_empty("deep");
  account.notices = run.texts("notices");
  if (run.has("missing")) read_missing(run, account);
}

}  // namespace

absl::StatusOr<Account> account_of(const Json& written, const std::string& name, const rules::Settings& settings) {
  if (!written.is_object() || !written.contains("format") || !written.contains("run"))
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is not a castscope report: give a run file (NAME.castscope) or its report (NAME.json)"));
  if (const auto kind = written.find("document"); kind != written.end() && *kind != "report")
    return absl::InvalidArgumentError(absl::StrCat(name, " is a document of the kind ", kind->dump(),
                                                   " and no report: give a run file (NAME.castscope) or its report "
                                                   "(NAME.json)"));
  const Json& format = written.at("format");
  if (format != 1 && format != 2)
    return absl::InvalidArgumentError(absl::StrCat(name, " is a report of format ", format.dump(),
                                                   ", and this castscope knows formats 1 and 2: make it again from its "
                                                   "run file, or use the castscope that made it"));
  std::string wrong;
  const Json translated = format == 1 ? from_format_1(written) : Json();
  const ReportPart whole(format == 1 ? translated : written, "", wrong);
  Account account;
  account.name = name;
  account.project = whole.text_or_empty("root");
  read_run(whole.part("run"), account);
  account.processes = whole.parts("processes").size();
  if (format == 2 && !whole.part("run").flag("observed")) account.processes = 0;
  read_numbers(whole, account);
  const store::SourceLines source = source_of(whole);
  read_findings(whole, settings, source, account);
  note_files_with_text(source, account);
  const SharedLists lists(whole);
  for (const ReportPart& site : whole.parts("sites"))
    account.sites.push_back(site_of(site, lists, source, account.project));
  for (const ReportPart& one : whole.parts("weight_products"))
    account.precision.push_back(precision_of(one, account.project));
  account.operators = operators_of(whole, account.project);
  read_metrics(whole, account);
  // The first reports of format 1 had none.
  if (format == 2 || whole.has("coverage"))
    read_coverage(whole.part("coverage"), ignored_rules(whole), settings, account);
  if (wrong.empty()) return account;
  return absl::InvalidArgumentError(absl::StrCat(name, " is not a complete castscope report: ", wrong));
}

}  // namespace castscope::report
