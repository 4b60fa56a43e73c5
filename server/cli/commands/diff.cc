// castscope diff: what changed from one run to the next.
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/exit_statuses.h"
#include "server/cli/commands/fail.h"
#include "server/cli/commands/settings_file.h"
#include "server/cli/commands/summary.h"
#include "server/report/compare/difference.h"
#include "server/report/text/words.h"

namespace castscope::cli {
namespace {

struct DiffOptions {
  std::string before, after, config, format = "text";
  bool exit_code = false;
};

int diff(const DiffOptions& options) {
  const auto settings = settings_here(options.config);
  if (!settings.ok()) return fail(settings.status(), kUsage);
  const auto before = report::read_account(options.before, *settings);
  if (!before.ok()) return fail(before.status(), kIncompleteData);
  const auto after = report::read_account(options.after, *settings);
  if (!after.ok()) return fail(after.status(), kIncompleteData);
  const report::Difference difference = report::difference_of(*before, *after);
  const bool written = options.format == "json"
                           ? put(report::difference_json(*before, *after, difference)
                                     .dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
                                 "\n")
                           : put(report::difference_text(*before, *after, difference, terminal_width(STDOUT_FILENO)));
  if (!written) return kUsage;
  bool whole = true;
  for (const report::Account* account : {&*before, &*after}) {
    if (account->damage.empty()) continue;
    say(report::without_controls(account->name + ": " + account->damage));
    whole = false;
  }
  if (!whole) return kIncompleteData;
  if (!options.exit_code) return 0;
  if (!difference.doubts.empty()) return kIncompleteData;
  return difference.any() ? kFound : 0;
}

}  // namespace

void add_diff(CommandLine& line) {
  const Command command = line.subcommand("diff", "Tell what changed from one run to another");
  auto options = std::make_shared<DiffOptions>();
  command.option("A", options->before, "The run before: NAME.castscope, or its report NAME.json").required().given();
  command.option("B", options->after, "The run after").required().given();
  command.flag("--exit-code", options->exit_code,
               "Exit with 1 when anything but times differs, with 3 when the runs cannot be compared for sure");
  add_config_option(command, options->config);
  command.option("-f,--format", options->format, "text or json").one_of({"text", "json"}).shows_default();
  command.footer(
      absl::StrCat("Examples:\n"
                   "  castscope diff before.castscope after.castscope\n"
                   "  castscope diff --exit-code main.json branch.json\n"
                   "  castscope diff -f json a.castscope b.castscope | jq '.sites[] | select(.change == \"new\")'\n\n"
                   "Places are aligned by their code, not by line numbers.\n\n",
                   exit_statuses_of("diff")));
  command.on_run([options] { return diff(*options); });
}

}  // namespace castscope::cli
