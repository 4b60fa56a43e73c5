// castscope report, convert, version: commands about a finished run.
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/exit_statuses.h"
#include "server/cli/commands/fail.h"
#include "server/cli/commands/input_file.h"
#include "server/cli/commands/output_file.h"
#include "server/cli/commands/sarif_report.h"
#include "server/cli/commands/settings_file.h"
#include "server/cli/commands/summary.h"
#include "server/cli/recording/recording.h"
#include "server/cli/version.h"
#include "server/report/forms/formats.h"
#include "server/report/model/model.h"
#include "server/report/text/words.h"
#include "server/store/read/run_reader.h"

namespace castscope::cli {
namespace {

struct ReportOptions {
  std::string run_file, output, config, policy, format = "json";
  SarifChoice sarif;
  std::string summary;                     // its form: summary.h; "" = not asked for
  bool force = false, other_form = false;  // --format or --output was given
};

// Returns the report that the run wrote beside its file, if it still exists.
std::string report_beside(const std::string& run_file) {
  std::error_code error;
  const std::string name = std::filesystem::path(run_file).replace_extension(".json").string();
  return name != run_file && std::filesystem::is_regular_file(name, error) ? name : "";
}

int print_summary_of(const ReportOptions& options, const rules::Settings& settings) {
  const auto run = judging::read_and_judge(options.run_file, settings);
  if (!run.ok()) return fail(about_run_file(options.run_file, run.status()), kIncompleteData);
  print_summary(**run, {options.run_file, report_beside(options.run_file)}, options.summary);
  const absl::Status damage = report::damage_status(options.run_file, (*run)->data);
  return damage.ok() ? 0 : fail(damage, kIncompleteData);
}

int report(const ReportOptions& options) {
  if (!options.summary.empty() && options.other_form)
    return fail(absl::InvalidArgumentError("--summary goes to stderr as text: it takes neither -f nor -o"), kUsage);
  if (!options.sarif.empty() && (!options.summary.empty() || options.format != "sarif"))
    return fail(absl::InvalidArgumentError("--baseline and --category are for -f sarif alone"), kUsage);
  if (absl::Status status = refuse_output(options.output, {options.run_file, options.sarif.baseline}, options.force);
      !status.ok())
    return fail(status, kUsage);
  const auto settings = settings_here(options.config, options.policy);
  if (!settings.ok()) return fail(settings.status(), kUsage);
  if (!options.summary.empty()) return print_summary_of(options, *settings);
  return into_output(options.output, [&](std::ostream& out) {
    if (!options.sarif.empty())
      return about_run_file(options.run_file, write_sarif(options.run_file, options.sarif, *settings, out));
    return about_run_file(options.run_file,
                          report::write_report(options.run_file, *report::format_of(options.format), *settings, out));
  });
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const report::FormatName& one : report::formats()) names.emplace_back(one.name);
  return names;
}

std::string format_help() {
  std::string text;
  for (const report::FormatName& one : report::formats()) {
    text.append(text.empty() ? "" : "; ").append(one.name).append(": ").append(one.meaning);
  }
  return text;
}

}  // namespace

void add_report(CommandLine& line) {
  const Command command =
      line.subcommand("report", "Write a report of a run: JSON, SARIF, HTML, Markdown, CSV, a graph or a trace");
  auto options = std::make_shared<ReportOptions>();
  command.option("RUN", options->run_file, "NAME.castscope").required().given();
  command.option("-f,--format", options->format, format_help()).one_of(format_names()).shows_default();
  command.option("-o,--output FILE", options->output, "Write to this file instead of standard output").given();
  add_config_option(command, options->config);
  add_policy_option(command, options->policy);
  command
      .option("--baseline FILE", options->sarif.baseline,
              "For -f sarif: a run file or report; each result says whether it is new since then, unchanged or absent")
      .given();
  command
      .option("--category NAME", options->sarif.category,
              "For -f sarif: uploads of one category replace each other; castscope/SCRIPT where it is not given")
      .given();
  command.flag("--force", options->force, "Overwrite a file that exists");
  command
      .flag_with_value("--summary=FORM", kBriefSummary, options->summary,
                       "Print the summary for people on stderr instead; --summary=full has everything")
      .one_of({kBriefSummary, kFullSummary});
  command.footer(
      absl::StrCat("Examples:\n"
                   "  castscope report train.castscope | jq .totals\n"
                   "  castscope report -f html -o train.html train.castscope\n"
                   "  castscope report -f dot train.castscope | dot -Tsvg > graph.svg\n"
                   "  castscope report -f jsonl train.castscope | head\n"
                   "  castscope report -f sarif -o castscope.sarif train.castscope\n"
                   "  castscope report -f md train.castscope >> \"$GITHUB_STEP_SUMMARY\"\n"
                   "  castscope report --summary train.castscope\n"
                   "  castscope report --summary=full train.castscope\n\n",
                   exit_statuses_of("report")));
  command.on_run([command, options] {
    options->other_form = command.count("--format") + command.count("--output") > 0;
    return report(*options);
  });
}

// The command's name before `report` had these formats. Scripts use it.
void add_convert(CommandLine& line) {
  const Command command = line.subcommand("convert", "The old name of `castscope report -f jsonl`").hidden();
  auto options = std::make_shared<ReportOptions>();
  options->format = "jsonl";
  command.option("RUN", options->run_file, "NAME.castscope").required().given();
  command.option("-f,--format", options->format, "jsonl or chrome, as in `castscope report`")
      .one_of({"jsonl", "chrome"})
      .shows_default();
  command.option("-o,--output FILE", options->output, "Write to this file instead of standard output").given();
  command.flag("--force", options->force, "Overwrite a file that exists");
  command.footer(
      absl::StrCat("Examples:\n"
                   "  castscope convert train.castscope | head\n"
                   "  castscope convert -f chrome -o trace.json train.castscope\n\n"
                   "`castscope report -f jsonl` and `castscope report -f chrome` do the same.\n\n",
                   exit_statuses_of("report")));
  command.on_run([options] { return report(*options); });
}

void add_version(CommandLine& line) {
  const Command command = line.subcommand("version", "Print castscope's version");
  command.footer(exit_statuses_of("version"));
  command.on_run([] {
    std::printf("castscope %s\n", kVersion);
    return 0;
  });
}

}  // namespace castscope::cli
