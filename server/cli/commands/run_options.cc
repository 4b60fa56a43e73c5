#include "server/cli/commands/run_options.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/settings_file.h"
#include "server/cli/commands/summary.h"
#include "server/cli/job/job_environment.h"
#include "server/cli/job/policy_variables.h"
#include "server/cli/recording/output_name.h"
#include "server/relay/sending/connect.h"

namespace castscope::cli {
namespace {

void add_output_options(const Command& command, RunOptions& options) {
  command.option("-o,--output NAME", options.output,
                 "Where the run goes: NAME.castscope and NAME.json; a folder gets a default name inside");
  command.flag("--force", options.force, "Overwrite files that exist");
  command
      .option(
          "--keep", options.keep,
          "Which of the recorded events the run file keeps: `all`, or a bounded `window`, which is the default. Counts "
          "are exact with both. Operators and calls that were passed through are recorded in deep steps only")
      .one_of({"all", "window"});
}

void add_observing_options(const Command& command, RunOptions& options) {
  command
      .option("--deep STEPS", options.deep,
              "Which steps are deep steps, in which every operator is observed: `always`, `never`, or N for every Nth; "
              "by default a few at the start, after a change, and now and then")
      .check(deep_problem);
  command
      .option("--gpu", options.gpu,
              "Whether GPU kernels are timed in deep steps: `auto` times them once PyTorch has a tensor on a GPU; `on` "
              "from the first operator, whether or not PyTorch uses the GPU; `events` times casts alone, by CUDA "
              "events instead of CUPTI; `off` times nothing")
      .one_of({"auto", "on", "events", "off"});
  command
      .flag("--armed", options.armed,
            "Watch nothing until `castscope attach PID` asks for it; `castscope detach PID` ends it again")
      .excludes("--enforce")
      .excludes("--apex");
  command.flag("--progress", options.progress,
               "Show a live progress line on stderr, and report findings as they come up");
  command.option("--summary", options.summary, "How much the end of the run says: what fits on a screen, or everything")
      .one_of({kBriefSummary, kFullSummary})
      .shows_default();
  command
      .flag_with_value("--live=PORT", "0", options.live,
                       "Serve a page on which the run can be watched; --live=PORT on this port of 127.0.0.1")
      .range(0, 65535);
}

void add_policy_options(const Command& command, RunOptions& options) {
  add_config_option(command, options.config);
  add_policy_option(command, options.policy);
  command
      .option("--enforce POLICY", options.enforce,
              "Carry out this policy (docs/policies.md) in autocast's place, with castscope's cache of copies")
      .given()
      .excludes("--policy");
  command
      .flag("--all-kernels", options.all_kernels,
            "With --enforce: run every operator through castscope's own kernel, even where PyTorch's does what the "
            "policy says")
      .needs("--enforce");
  command.flag("--enforce-if-possible", options.enforce_if_possible, kEnforceIfPossibleHelp);
  command.flag("--apex", options.apex, kApexHelp).excludes("--policy");
}

void add_hidden_options(const Command& command, RunOptions& options) {
  command.flag("--given-agents", options.given_agents, "Use the agents of CASTSCOPE_AGENTS, and no others").hidden();
}

void add_collector_options(const Command& command, RunOptions& options) {
  command.option("--collector HOST:PORT", options.collector.address,
                 "Send the run to a `castscope serve` at HOST:PORT instead of recording it here");
  add_credential_options(command, options.collector);
}

}  // namespace

void add_credential_options(const Command& command, CollectorAddress& collector) {
  command.option("--token TOKEN", collector.token, "The token that the collector asks for")
      .from_variable("CASTSCOPE_TOKEN");
  command.option("--token-file FILE", collector.token_file,
                 "A file whose first line is the token; CASTSCOPE_TOKEN_FILE names one, too");
  command.flag("--tls", collector.tls.use,
               "Connect to the collector by TLS, as is always done where it is not on this machine");
  command
      .option("--ca FILE", collector.tls.root_certificate_file,
              "CA certificate (PEM) that the collector's certificate is verified against; turns on --tls. CASTSCOPE_CA "
              "names one, too")
      .existing_file();
  command
      .option("--client-cert FILE", collector.tls.certificate_file,
              "Our certificate (PEM), for a collector that asks for one; turns on --tls. CASTSCOPE_CERT names one, too")
      .existing_file();
  command.option("--client-key FILE", collector.tls.key_file, "Its key (PEM); CASTSCOPE_KEY names one, too")
      .existing_file();
}

void add_withholding_options(const Command& command, Withholding& withholding) {
  command.flag("--no-source", withholding.no_source,
               "Read no line of source: none is in the run file, in the report or on the page. CASTSCOPE_NO_SOURCE=1 "
               "says the same");
  command
      .option("--redact PATTERN", withholding.patterns,
              "Replace what matches this regular expression (RE2) by [redacted] in every text of the run, before it is "
              "sent or written: command, paths, names, source. May be given several times; CASTSCOPE_REDACT has one "
              "more. Secrets in command lines are replaced in any case (docs/trust.md)")
      .one_at_a_time();
}

void add_run_options(const Command& command, RunOptions& options) {
  add_output_options(command, options);
  add_policy_options(command, options);
  add_observing_options(command, options);
  add_collector_options(command, options);
  add_withholding_options(command, options.withholding);
  add_hidden_options(command, options);
}

// The files that the run reads are not to be written over by its report, even with --force.
std::string overwritten_by(const RunOptions& options) {
  if (options.output.empty()) return "";
  const std::string report = without_suffix(options.output) + ".json";
  for (const std::string& file : {options.policy, options.enforce, options.config}) {
    std::error_code error;
    if (!file.empty() && std::filesystem::equivalent(file, report, error))
      return absl::StrCat("the report of the run would take the place of ", file, ": choose another -o NAME");
  }
  return "";
}

std::string problem_of(const RunOptions& options, bool names_output) {
  if (options.command.empty()) return "run needs a command: castscope run -- python train.py";
  if (names_output && options.output.empty())
    return "-o is given an empty name: name the run, or leave -o out for a default name";
  if (options.enforce_if_possible && options.enforce.empty() && !options.apex) return kIfPossibleAlone;
  if (options.collector.address.empty()) return overwritten_by(options);
  if (const absl::Status status = relay::check_address(options.collector.address); !status.ok())
    return std::string(status.message());
  if (!options.live.empty())
    return "--live shows a run that is recorded here; with --collector, `castscope serve --web` shows it there";
  if (!options.policy.empty())
    return "--policy needs the run file, which the collector keeps: check the run there, with `castscope check "
           "--policy`";
  return "";
}

// A castscope.json that was merely found does not keep a job from running when it is wrong; one that was named does,
// and so does a policy.
bool read_settings_of(RunOptions& options) {
  auto settings = settings_here(options.config);
  if (settings.ok()) {
    options.settings = *std::move(settings);
  } else {
    const bool asked_for = !options.config.empty();
    say(absl::StrCat(settings.status().message(), asked_for ? "" : "; the rules' defaults count instead"));
    if (asked_for) return false;
  }
  const std::string& policy = options.enforce.empty() ? options.policy : options.enforce;
  if (policy.empty()) return true;
  const absl::Status status = hold_against(policy, options.settings);
  if (!status.ok()) say(absl::StrCat(status.message(), "; the job is not started"));
  return status.ok();
}

std::vector<std::string> told_command(const RunOptions& options) {
  return redaction_of(pattern_of(options.withholding))->command(options.command);
}

std::string unobserved_sentence(const RunOptions& options, const std::string& why) {
  if (options.demands_policy())
    return absl::StrCat(why, ": the policy ", options.enforce,
                        " cannot be enforced, and the job is not started; with --enforce-if-possible it would run "
                        "unobserved, without the policy");
  return absl::StrCat(why, "; the job runs unobserved",
                      options.enforce.empty() ? "" : absl::StrCat(", without the policy ", options.enforce));
}

}  // namespace castscope::cli
