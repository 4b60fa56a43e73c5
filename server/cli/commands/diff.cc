// castscope diff: what changed from one run to the next.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/exit_statuses.h"
#include "server/cli/commands/fail.h"
#include "server/cli/commands/settings_file.h"
#include "server/cli/commands/summary.h"
#include "server/report/compare/difference.h"
#include "server/report/text/words.h"

namespace castscope::cli {
namespace {

using report::Fault;
constexpr Fault kFaults[] = {Fault::kNewFindings, Fault::kNewCasts, Fault::kDtypes, Fault::kAny};

struct DiffOptions {
  std::string before, after, config, fail_on, format = "text";
  bool exit_code = false;
};

std::vector<std::string> names_of_faults() {
  std::vector<std::string> names;
  for (const Fault fault : kFaults) names.emplace_back(name(fault));
  return names;
}

std::string problem_of_faults(const std::string& list) {
  const std::vector<std::string> known = names_of_faults();
  for (const std::string& one : std::vector<std::string>(absl::StrSplit(list, ',')))
    if (std::ranges::find(known, one) == known.end())
      return absl::StrCat("\"", one, "\" is none of ", report::listed(known),
                          ", which may stand in a list with commas between them");
  return "";
}

bool fails(const report::Difference& difference, const std::string& fail_on) {
  const std::vector<std::string> wanted = absl::StrSplit(fail_on, ',');
  return std::ranges::any_of(kFaults, [&](Fault fault) {
    return std::ranges::find(wanted, name(fault)) != wanted.end() && has(difference, fault);
  });
}

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
  if (!options.exit_code && options.fail_on.empty()) return 0;
  const bool found = fails(difference, options.fail_on.empty() ? std::string(name(Fault::kAny)) : options.fail_on);
  if (!difference.doubts.empty()) return kIncompleteData;
  return found ? kFound : 0;
}

}  // namespace

void add_diff(CommandLine& line) {
  const Command command = line.subcommand("diff", "Tell what changed from one run to another");
  auto options = std::make_shared<DiffOptions>();
  command.option("A", options->before, "The run before: NAME.castscope, or its report NAME.json").required().given();
  command.option("B", options->after, "The run after").required().given();
  command.flag("--exit-code", options->exit_code,
               "Exit with 1 when anything but times, places and metrics differs, with 3 when the runs cannot be "
               "compared for sure");
  command
      .option("--fail-on", options->fail_on,
              "Exit so for these alone, with commas between them: new-findings; new-casts (new places of casts, or "
              "more casts a step); dtypes (casts to another dtype, operators that compute in another); any, which is "
              "what --exit-code does")
      .given()
      .check(problem_of_faults)
      .excludes("--exit-code");
  add_config_option(command, options->config);
  command.option("-f,--format", options->format, "text or json").one_of({"text", "json"}).shows_default();
  command.footer(
      absl::StrCat("Examples:\n"
                   "  castscope diff before.castscope after.castscope\n"
                   "  castscope diff --exit-code main.json branch.json\n"
                   "  castscope diff --fail-on new-casts,dtypes main.json branch.json\n"
                   "  castscope diff -f json a.castscope b.castscope | jq '.site_changes[] | select(.change == "
                   "\"new\")'\n\n"
                   "Places are aligned by their code, not by line numbers. A function or a file that was renamed, and "
                   "a line\nthat was split, are the same place.\n\n",
                   exit_statuses_of("diff")));
  command.on_run([options] { return diff(*options); });
}

}  // namespace castscope::cli
