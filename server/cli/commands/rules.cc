// castscope rules: explains what castscope looks for, without a run.
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/exit_statuses.h"
#include "server/cli/commands/fail.h"
#include "server/cli/commands/summary.h"
#include "server/report/findings/explain.h"
#include "server/rules/rules.h"
#include "server/rules/suggest.h"

namespace castscope::cli {
namespace {

struct ExplainOptions {
  std::string rule, format = "text";
};

constexpr const char* kCasts = "casts";

int explain(const ExplainOptions& options) {
  const rules::Rule* const rule = rules::find_rule(options.rule);
  if (rule == nullptr) {
    const auto near = rules::nearest_rule(options.rule);
    return fail(
        absl::StrCat("there is no rule \"", options.rule, "\"",
                     near ? absl::StrCat("; did you mean \"", *near, "\"? ") : ": ", "`castscope rules` lists all"),
        kUsage);
  }
  return put(options.format == "json" ? report::explanation_json(*rule).dump(1) + "\n"
                                      : report::explanation_text(*rule, terminal_width(STDOUT_FILENO)))
             ? 0
             : kUsage;
}

int list(const ExplainOptions& options) {
  return put(options.format == "json" ? report::rule_list_json().dump(1) + "\n"
                                      : report::rule_list_text(terminal_width(STDOUT_FILENO)))
             ? 0
             : kUsage;
}

void add_format(const Command& command, ExplainOptions& options) {
  command.option("-f,--format", options.format, "text or json").one_of({"text", "json"}).shows_default();
}

}  // namespace

void add_rules(CommandLine& line) {
  const Command command = line.subcommand("rules", "Tell what castscope looks for: all rules, or one of them");
  auto options = std::make_shared<ExplainOptions>();
  command.option("RULE", options->rule, "Explain this rule: what it finds, why that matters, and the fix").given();
  add_format(command, *options);
  command.footer(
      absl::StrCat("Examples:\n"
                   "  castscope rules\n"
                   "  castscope rules cache-grows\n"
                   "  castscope rules -f json cache-grows | jq '.rules[].thresholds'\n"
                   "  castscope rules -f json | jq '.rules[] | select(.severity == \"error\").rule'\n\n",
                   exit_statuses_of("rules")));
  command.on_run([options] { return options->rule.empty() ? list(*options) : explain(*options); });
}

// `explain RULE` was the command's name before `rules` took a rule's name. Scripts use it.
void add_explain(CommandLine& line) {
  const Command command = line.subcommand("explain", "Tell what the words of the summary mean, or explain a rule");
  auto options = std::make_shared<ExplainOptions>();
  command.option("WHAT", options->rule, "casts: the words of the summary; or a rule's name, as `castscope rules RULE`")
      .required();
  add_format(command, *options);
  command.footer(
      absl::StrCat("Examples:\n"
                   "  castscope explain casts\n"
                   "  castscope explain cache-grows\n\n",
                   exit_statuses_of("explain")));
  command.on_run([options] {
    if (options->rule != kCasts || options->format == "json") return explain(*options);
    return put(report::words_of_casts(terminal_width(STDOUT_FILENO))) ? 0 : kUsage;
  });
}

}  // namespace castscope::cli
