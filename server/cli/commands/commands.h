// The commands of `castscope`, one file for each. A command adds itself to the command line, and says what to run if it
// is chosen; main runs it.
#pragma once

#include <string>

#include "server/cli/command_line/command_line.h"

namespace castscope::cli {

void add_run(CommandLine& line);
void add_attach(CommandLine& line);
void add_detach(CommandLine& line);
void add_deep(CommandLine& line);
void add_report(CommandLine& line);
void add_convert(CommandLine& line);
void add_check(CommandLine& line);
void add_compare(CommandLine& line);
void add_diff(CommandLine& line);
void add_explain(CommandLine& line);
void add_policy(CommandLine& line);
void add_rules(CommandLine& line);
void add_recover(CommandLine& line);
void add_view(CommandLine& line);
void add_serve(CommandLine& line);
void add_token(CommandLine& line);
void add_schema(CommandLine& line);
void add_env(CommandLine& line);
void add_notebook(CommandLine& line);
void add_doctor(CommandLine& line);
void add_relay(CommandLine& line);        // hidden: for the preload library
void add_build_agent(CommandLine& line);  // hidden: for CMake
void add_pack_agent(CommandLine& line);   // hidden: for scripts/agents
void add_counts(CommandLine& line);       // hidden: for the pytest plugin
void add_version(CommandLine& line);

// The exit status of failures of `castscope run` itself, as `env`, `timeout` and `nohup` have one: most jobs' statuses
// differ from it.
inline constexpr int kOwnFailure = 125;
// The exit statuses of all other commands, as grep and diff have them. exit_statuses.cc has what they mean for each.
inline constexpr int kFound = 1, kUsage = 2, kIncompleteData = 3;

// Writes "castscope: …" to stderr.
void say(const std::string& sentence);
// Writes a text to stderr as it is.
void tell(const std::string& text);
// From now on what is said is dropped where nobody reads it for seconds: castscope stands beside a job, whose end is
// not to wait for castscope's words.
void speak_beside_job();
// Writes to stdout. Returns false, after saying so, when that is not possible.
bool put(const std::string& text);

}  // namespace castscope::cli
