#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/report/compare/account.h"
#include "server/report/compare/account_operators.h"
#include "server/report/findings/fingerprint.h"
#include "server/report/model/metrics.h"
#include "server/report/model/model.h"
#include "server/report/model/precision.h"
#include "server/report/text/words.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

std::string failure_of(const Model& model) {
  const auto& end = model.run.end;
  if (end && end->signal) return absl::StrCat("signal ", *end->signal);
  const int status = model.exit.value_or(0);
  return status == 0 ? "" : absl::StrCat("exit status ", status);
}

AccountSite site_of(const Model& model, const SiteTotal& total, const std::string& project) {
  const store::RunData& run = model.run;
  const store::Site& from = run.sites[total.site];
  const store::CodeLocation at = run.user_location(from.stack).value_or(store::CodeLocation());
  AccountSite site;
  site.file = portable_path(at.file, project);
  if (!at.file.empty()) {
    site.function = at.function;
    site.line = at.line;
  }
  const auto text = run.source.line(at.file, site.line);
  if (site.line > 0) site.text = text ? normalised(*text) : absl::StrCat("line ", site.line);
  site.op = from.op;
  site.argument = argument_of(run, from.call_site);
  site.phase = store::name(from.phase);
  site.cause = store::name(from.cause);
  site.from = store::dtype_name(from.from);
  site.to = store::dtype_name(from.to);
  site.casts = total.counts.casts;
  site.hits = total.counts.hits;
  site.bytes = total.counts.bytes;
  site.cpu_ns = total.counts.cpu_ns;
  site.looked_at = model.looked_at.site_looked_at[total.site].value_or(true);
  return site;
}

AccountPrecision precision_of(PrecisionRow row, const std::string& project) {
  return {.file = portable_path(row.at.file, project),
          .function = std::move(row.at.function),
          .model = std::move(row.model),
          .module = std::move(row.module),
          .op = std::move(row.op),
          .computed = std::move(row.computed),
          .line = row.at.line,
          .grad_mode = row.grad_mode,
          .calls = row.calls};
}

AccountMetric metric_of(const MetricTotal& total) {
  const auto known = [&](double value) {
    return total.metric != nullptr && total.metric->values > 0 && std::isfinite(value) ? std::optional(value)
                                                                                       : std::nullopt;
  };
  static const store::Metric kNone{};
  const store::Metric& metric = total.metric == nullptr ? kNone : *total.metric;
  return {.name = total.name, .first = known(metric.first), .last = known(metric.last)};
}

void take_numbers(const Model& model, Account& account) {
  const store::Counts& totals = model.totals.autocast;
  account.casts = totals.casts;
  account.hits = totals.hits;
  account.passes = totals.passes;
  account.bytes = totals.bytes;
  account.cpu_ns = totals.cpu_ns;
  account.cache_peak_bytes = model.totals.cache.cache_peak_bytes;
  account.cache_peak_entries = model.totals.cache.cache_peak_entries;
  account.steps = model.steps;
  for (const store::StepRun& run : model.run.step_runs) {
    // The numbers are unsigned, so that no difference overflows.
    if (run.end_ns > run.begin_ns)
      account.steps_ns += static_cast<std::uint64_t>(run.end_ns) - static_cast<std::uint64_t>(run.begin_ns);
  }
}

}  // namespace

Account account_of(const Model& model, const std::string& name) {
  const store::RunData& run = model.run;
  Account account;
  account.name = name;
  account.command = absl::StrJoin(run.start.command, " ");
  account.run_folder = run.start.cwd;
  account.project = run.start.project();
  account.complete = model.complete();
  if (run.damage) account.damage = run.damage->sentence;
  account.processes = run.processes.size();
  account.failure = failure_of(model);
  account.notices = model.notices;
  take_numbers(model, account);
  account.findings = model.findings;
  account.fingerprints = model.fingerprints;
  account.ignored_by_settings = model.ignored_by_settings;
  account.ignored_in_code = model.ignored_in_code;
  for (const std::size_t place : model.by_code)
    account.sites.push_back(site_of(model, model.sites[place], account.project));
  for (PrecisionRow& row : precision_rows(run))
    account.precision.push_back(precision_of(std::move(row), account.project));
  for (const rules::JudgedRule& of : model.rules) {
    AccountRule rule{std::string(of.rule->name), std::string(rules::name(of.judged)), of.because};
    note_reach(account, rule);
    if (!of.deselected && !model.settings.ignores(of.rule->name)) add_rule(account, std::move(rule));
  }
  account.operators = operators_of(model, account.project);
  for (const MetricTotal& total : metric_totals(model)) add_metric(account, metric_of(total));
  note_lines(run.source, account);
  note_files_with_text(run.source, account);
  account.deep = rules::deep_mode(model.run);
  account.left_out_new_code = model.looked_at.refused > 0;
  account.lacks_sites = model.totals.beyond_sites.casts + model.totals.beyond_sites.hits > 0;
  account.is_cut_short = !account.failure.empty() || std::ranges::any_of(model.missing, [](const auto& one) {
    return cuts_short(store::name(one.reason));
  });
  account.skipped_steps = model.looked_at.first_gap.has_value();
  return account;
}

}  // namespace castscope::report
