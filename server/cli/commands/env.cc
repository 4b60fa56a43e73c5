// castscope env: prints the variables for a bare LD_PRELOAD, where castscope does not start the job.
#include <cstdio>
#include <filesystem>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/exit_statuses.h"
#include "server/cli/commands/fail.h"
#include "server/cli/job/job_environment.h"
#include "server/cli/job/policy_variables.h"
#include "server/cli/job/proc.h"
#include "server/cli/toolkit/child.h"
#include "server/cli/toolkit/python_probe.h"
#include "server/policy/compiled.h"
#include "server/policy/load.h"
#include "server/relay/connect.h"

namespace castscope::cli {
namespace {

struct EnvOptions {
  std::string output, collector, deep, gpu, enforce;
  bool plain = false, all_kernels = false, apex = false, enforce_if_possible = false;
  std::vector<std::string> command;
};

std::string shell_quoted(const std::string& value) {
  return absl::StrCat("'", absl::StrReplaceAll(value, {{"'", "'\\''"}}), "'");
}

// Returns false, after saying why, if the policy cannot be enforced.
bool add_policy(const EnvOptions& options, std::vector<std::string>& variables) {
  if (options.enforce.empty()) return true;
  const auto policy = policy::load(options.enforce);
  const std::string compiled = policy.ok() ? policy::compiled(*policy) : "";
  const auto path = policy.ok() ? keep_compiled(compiled) : policy.status();
  if (!path.ok()) {
    say(std::string(path.status().message()));
    return false;
  }
  for (std::string& variable : enforcing_variables(compiled, *path, options.all_kernels, options.enforce_if_possible))
    variables.push_back(std::move(variable));
  return true;
}

// Returns "", or why the variables cannot be made for this command. Tells of one that is no Python, since they are then
// made for another one.
std::string problem_of_python(const std::vector<std::string>& command) {
  if (command.empty() || !named_python(command).empty()) return "";
  if (find_in_path(command[0]).empty()) return absl::StrCat(command[0], ": there is no such program");
  const std::string python = python_of(command);
  say(absl::StrCat(command[0], " is not a Python: ",
                   python.empty() ? "no agent is built for it" : absl::StrCat("the agent is made for ", python)));
  return "";
}

std::string with_what_follows(const EnvOptions& options, const std::string& why) {
  if (options.enforce.empty()) return why;
  return absl::StrCat(why, options.enforce_if_possible ? "; jobs with this PyTorch run without the policy"
                                                       : "; jobs with this PyTorch end with status 125, since the "
                                                         "policy cannot be enforced (--enforce-if-possible)");
}

int print_environment(const EnvOptions& options) {
  if (!options.collector.empty()) {
    if (auto channel = relay::connect(options.collector); !channel.ok()) return fail(channel.status(), kUsage);
  }
  if (const std::string problem = problem_of_python(options.command); !problem.empty()) return fail(problem, kUsage);
  Preparation prepared = prepare_job(options.command, say, {.lend = !options.enforce.empty()});
  if (!prepared.is_preloaded) {
    say(absl::StrCat(prepared.unobserved_why, ": jobs would run unobserved"));
    return kIncompleteData;
  }
  if (!prepared.unobserved_why.empty()) say(with_what_follows(options, prepared.unobserved_why));
  std::vector<std::string> variables = std::move(prepared.variables);
  if (!add_policy(options, variables)) return kUsage;
  if (options.apex) variables.emplace_back(kApexVariable);
  if (!options.output.empty()) {
    std::error_code error;
    const std::string place = std::filesystem::absolute(options.output, error).string();
    if (error) {
      say("the working directory is gone: give -o an absolute name");
      return kUsage;
    }
    variables.push_back(absl::StrCat("CASTSCOPE_OUT=", place));
  }
  if (!options.deep.empty()) variables.push_back(absl::StrCat("CASTSCOPE_DEEP=", options.deep));
  if (!options.gpu.empty()) variables.push_back(absl::StrCat("CASTSCOPE_GPU=", options.gpu));
  if (!options.collector.empty()) variables.push_back(absl::StrCat("CASTSCOPE_COLLECTOR=", options.collector));
  for (const std::string& variable : variables) {
    if (!options.plain || variable.find_first_of(" \t\n*?[") == std::string::npos) continue;
    say(absl::StrCat("a shell would split or change ", one_line(variable, 200),
                     ", which --plain does not quote: leave --plain out, and use `eval`"));
    return kUsage;
  }
  for (const std::string& variable : variables) {
    std::size_t equals = variable.find('=');
    std::string name = variable.substr(0, equals), value = variable.substr(equals + 1);
    std::printf("%s\n",
                options.plain ? variable.c_str() : absl::StrCat("export ", name, "=", shell_quoted(value)).c_str());
  }
  return 0;
}

}  // namespace

void add_env(CommandLine& line) {
  const Command command = line.subcommand("env", "Print the variables for use without `castscope run`");
  auto options = std::make_shared<EnvOptions>();
  command.option("-o,--output NAME", options->output, "Where the run goes, as for `castscope run`");
  command.option("--collector HOST:PORT", options->collector, "Send the run to a `castscope serve` at HOST:PORT");
  command.option("--deep STEPS", options->deep, "Which steps are deep, as for `castscope run`").check(deep_problem);
  command.option("--gpu", options->gpu, "Whether kernels are timed, as for `castscope run`")
      .one_of({"auto", "on", "events", "off"});
  command.option("--enforce POLICY", options->enforce, "Carry out this policy, as for `castscope run`").given();
  command.flag("--all-kernels", options->all_kernels, "As for `castscope run`").needs("--enforce");
  command.flag("--enforce-if-possible", options->enforce_if_possible, kEnforceIfPossibleHelp);
  command.flag("--apex", options->apex, kApexHelp);
  command.flag("--plain", options->plain, "Print NAME=VALUE without export and quotes, for env(1)");
  command.takes_other_words();
  command.takes_job("[-- PYTHON]");
  command.footer(absl::StrCat(
      "Examples:\n"
      "  eval \"$(castscope env)\"; python train.py\n"
      "  env $(castscope env --plain --collector localhost:7390) python train.py\n"
      "  castscope env --enforce mine.json > job.env   # autocast then does what mine.json says\n"
      "  castscope env -- .venv/bin/python      # for the PyTorch of this Python\n\n"
      "The first process with PyTorch starts a detached relay process, which writes the run file when the last process "
      "with PyTorch has ended.\n\n",
      exit_statuses_of("env")));
  command.on_run([&line, options, command] {
    options->command = command.remaining();
    options->command.insert(options->command.end(), line.job.begin(), line.job.end());
    if (options->apex && options->enforce.empty()) options->enforce = kApexPolicy;
    if (options->enforce_if_possible && options->enforce.empty()) return fail(kIfPossibleAlone, kUsage);
    return print_environment(*options);
  });
}

}  // namespace castscope::cli
