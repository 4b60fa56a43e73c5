// castscope check: the gate for CI.
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "server/cli/commands/check_exported.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/exit_statuses.h"
#include "server/cli/commands/fail.h"
#include "server/cli/commands/output_file.h"
#include "server/cli/commands/settings_file.h"
#include "server/cli/commands/summary.h"
#include "server/cli/recording/conclusion.h"
#include "server/config/amounts.h"
#include "server/report/compare/gate.h"
#include "server/report/text/words.h"

namespace castscope::cli {
namespace {

struct CheckOptions {
  std::string file, baseline, config, policy, format = "text", json_file;
  std::string max_cast_share, max_cache;
  bool force = false;
  report::Gate gate;
};

// Returns "" or what is wrong.
std::string read_limits(CheckOptions& options) {
  if (!options.max_cast_share.empty()) {
    options.gate.max_cast_share = config::parse_share(options.max_cast_share);
    if (!options.gate.max_cast_share)
      return absl::StrCat("--max-cast-share ", options.max_cast_share,
                          ": a share is a percentage, as in 5%, or the same as a part of 1, as in 0.05");
  }
  if (!options.max_cache.empty()) {
    options.gate.max_cache_bytes = config::parse_bytes(options.max_cache);
    if (!options.gate.max_cache_bytes)
      return absl::StrCat("--max-cache ", options.max_cache, ": a size is a number with its unit, as in 2GiB or 500MB");
  }
  return "";
}

int check_a_program(const CheckOptions& options) {
  if (!options.baseline.empty())
    return fail("--baseline needs a run: a program of torch.export is checked without one", kUsage);
  if (!options.policy.empty())
    return fail("--policy needs a run file (NAME.castscope): a program of torch.export runs without autocast", kUsage);
  return check_exported({options.file, options.config, options.format, options.json_file, options.gate});
}

int check(CheckOptions options) {
  if (const std::string wrong = read_limits(options); !wrong.empty()) return fail(wrong, kUsage);
  if (absl::Status status = refuse_output(options.json_file, {options.file, options.baseline}, options.force);
      !status.ok())
    return fail(std::string(status.message()), kUsage);
  if (is_exported(options.file)) return check_a_program(options);
  if (!options.policy.empty() && options.file.ends_with(".json"))
    return fail("--policy needs the run file (NAME.castscope): a report does not hold what each operator did", kUsage);
  const auto settings = settings_here(options.config, options.policy);
  if (!settings.ok()) return fail(std::string(settings.status().message()), kUsage);
  const auto account = report::read_account(options.file, *settings);
  if (!account.ok()) return fail(std::string(account.status().message()), kIncompleteData);
  std::optional<report::Account> baseline;
  if (!options.baseline.empty()) {
    auto read = report::read_account(options.baseline, *settings);
    if (!read.ok()) return fail(absl::StrCat("the baseline: ", read.status().message()), kIncompleteData);
    if (!read->damage.empty())
      return fail(absl::StrCat("the baseline: ", read->name, ": ", read->damage), kIncompleteData);
    baseline = *std::move(read);
  }
  const report::Account* const before = baseline ? &*baseline : nullptr;
  const report::Verdict verdict = report::examine(*account, options.gate, before);
  const std::string json = report::verdict_json(*account, options.gate, verdict, before)
                               .dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
                           "\n";
  if (!options.json_file.empty()) {
    if (absl::Status written = write_text_file(options.json_file, json); !written.ok())
      return fail(std::string(written.message()), kUsage);
  }
  const std::string text = options.format == "json"
                               ? json
                               : report::verdict_text(*account, options.gate, verdict, before,
                                                      {settings->file, terminal_width(STDOUT_FILENO)});
  if (!put(text)) return kUsage;
  return static_cast<int>(verdict.outcome);
}

}  // namespace

void add_check(CommandLine& line) {
  const Command command =
      line.subcommand("check", "Fail when a run, or a program of torch.export, has findings: the gate for CI");
  auto options = std::make_shared<CheckOptions>();
  command
      .option("FILE", options->file, "NAME.castscope, or its report NAME.json; or a program of torch.export, NAME.pt2")
      .required()
      .given();
  command.option("--fail-on", options->gate.fail_on, "The lowest severity that makes the check fail")
      .one_of(std::vector<std::string>(rules::kSeverities.begin(), rules::kSeverities.end()))
      .shows_default();
  command
      .option("--baseline FILE", options->baseline,
              "A run file or report: findings that it already has do not make the check fail")
      .given();
  command
      .option("--max-cast-share PERCENT", options->max_cast_share,
              "The largest share of the steps' time that autocast's casts may take, such as 5%")
      .given();
  command.option("--max-cache SIZE", options->max_cache, "The most that the autocast cache may hold, such as 2GiB")
      .given();
  command.flag("--allow-incomplete", options->gate.allow_incomplete, "Let a run pass although not all of it was seen");
  command.flag(
      "--require-deep", options->gate.require_deep,
      "Exit with 3 when a rule could not judge all of the run, or of the baseline's, since not all operators were "
      "looked at");
  add_config_option(command, options->config);
  add_policy_option(command, options->policy);
  command.option("-f,--format", options->format, "text or json").one_of({"text", "json"}).shows_default();
  command.option("--json FILE", options->json_file, "Write the JSON into this file too").given();
  command.flag("--force", options->force, "Overwrite a file that exists");
  command.footer(
      absl::StrCat("Examples:\n"
                   "  castscope check train.castscope\n"
                   "  castscope check --fail-on performance --max-cast-share 5% --max-cache 2GiB train.json\n"
                   "  castscope check --baseline main.json --json check.json train.castscope\n"
                   "  castscope check model.pt2\n\n",
                   exit_statuses_of("check")));
  command.on_run([options] { return check(*options); });
}

}  // namespace castscope::cli
