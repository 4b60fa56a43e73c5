// The options of `castscope run`.
#pragma once

#include <string>
#include <vector>

#include "server/cli/command_line/command_line.h"
#include "server/cli/recording/recording.h"
#include "server/cli/recording/withholding.h"
#include "server/rules/inquiry/settings.h"

namespace castscope::cli {

struct RunOptions {
  std::string output;
  bool force = false, progress = false, armed = false;
  std::string keep, deep, gpu, config, policy, enforce;
  std::string summary = "brief";  // its form: summary.h
  bool all_kernels = false, apex = false, enforce_if_possible = false;
  // The job is to run under the policy, or not at all.
  bool demands_policy() const { return !enforce.empty() && !enforce_if_possible; }
  bool given_agents = false;  // for the self-test of agents
  std::string live;           // port of the viewer; "" = none
  CollectorAddress collector;
  Withholding withholding;
  rules::Settings settings;
  std::vector<std::string> command;
};

// How the collector is told who sends: the token, and TLS.
void add_credential_options(const Command& command, CollectorAddress& collector);

// Adds --redact and --no-source, which say what the run keeps back.
void add_withholding_options(const Command& command, Withholding& withholding);

void add_run_options(const Command& command, RunOptions& options);

// Returns "" or what is wrong with the options.
std::string problem_of(const RunOptions& options, bool names_output);

// Reads the rules' settings and the policy. Returns false, after saying why, if the job must not be started.
bool read_settings_of(RunOptions& options);

// The command as it may be told, in names of files, too.
std::vector<std::string> told_command(const RunOptions& options);

// Returns the sentence for a job that castscope cannot observe because of WHY: "WHY; the job runs unobserved". No
// policy is carried out then; where the user demands one, the sentence says that the job is not started.
std::string unobserved_sentence(const RunOptions& options, const std::string& why);

}  // namespace castscope::cli
