#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/cli/commands/commands.h"
#include "server/cli/job/inherited_signals.h"
#include "server/cli/serving/serve_signals.h"
#include "server/cli/toolkit/child.h"
#include "server/cli/toolkit/patient_write.h"
#include "server/cli/version.h"
#include "server/log/log.h"
#include "server/report/text/words.h"

namespace castscope::cli {

namespace {

using std::chrono::milliseconds;

// How long whoever reads stderr is waited for until something is dropped. Then nobody is waited for until they read
// again.
constexpr milliseconds kPatience{3000};
std::atomic<bool> speaks_beside_job = false;

}  // namespace

void speak_beside_job() { speaks_beside_job = true; }

void tell(const std::string& text) {
  static std::mutex& one_at_a_time = *new std::mutex;
  static milliseconds patience = kPatience;
  if (!speaks_beside_job) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
    return;
  }
  const std::lock_guard lock(one_at_a_time);
  patience = write_within(STDERR_FILENO, text, patience) ? kPatience : milliseconds(0);
}

void say(const std::string& sentence) {
  // Many sentences contain names of files. Line ends stay, since a compiler's messages have lines.
  tell(absl::StrCat("castscope: ", report::without_controls(sentence, "\n"), "\n"));
}

bool put(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written) say("standard output cannot be written");
  return written;
}

namespace {

// Somebody may have left out the command's name, or ask for help in another way.
std::string hint_at_command(const std::string& word) {
  std::error_code error;
  if (word == "help") return "; each command has --help";
  if (word.ends_with(".castscope"))
    return absl::StrCat("; `castscope report ", word, "` and `castscope view ", word, "` show a run");
  const bool is_program = word == "--" || std::filesystem::exists(word, error) || !find_in_path(word).empty();
  return is_program ? "; to run a job: castscope run -- python train.py" : "";
}

// If the output could not be written, the command has failed.
int when_written(int status, int usage_status) {
  std::cout.flush();
  const bool written = std::cout.good() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (written || status != 0) return status;
  say("standard output cannot be written");
  return usage_status;
}

// The exit status for what is wrong before a command is carried out. Those of `castscope run` are its job's.
int usage_status(int argc, char** argv) { return argc > 1 && std::string(argv[1]) == "run" ? kOwnFailure : kUsage; }

// `ps` shows what stands here: a token that was given on the command line does not stay. The words behind "--" are the
// job's, which has a copy of its own.
void hide_token(int argc, char** argv) {
  for (int i = 1; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
    char* value = std::strncmp(argv[i], "--token=", 8) == 0                        ? argv[i] + 8
                  : std::strcmp(argv[i], "--token") == 0 && argv[i + 1] != nullptr ? argv[i + 1]
                                                                                   : nullptr;
    if (value != nullptr) std::memset(value, 'x', std::strlen(value));
  }
}

// Whoever reads what these say may go away: that ends nothing of what they do.
void hold_pipe_signal(const std::string& command) {
  constexpr std::array kGoOnUnread = {"serve", "recover", "attach", "relay"};
  if (std::ranges::find(kGoOnUnread, command) == kGoOnUnread.end()) return;
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  sigprocmask(SIG_BLOCK, &pipe, nullptr);
}

int castscope_main(int argc, char** argv) {
  put_aside_inherited_signals();
  const std::string command = argc > 1 ? argv[1] : "";
  hold_pipe_signal(command);
  if (command == "serve") ServeSignals::hold_hangup();
  log::begin();
  CommandLine line("castscope", "castscope shows every precision cast that autocast makes in a PyTorch job.",
                   absl::StrCat("castscope ", kVersion));
  line.footer("Begin with:  castscope run -- python train.py");
  line.hint_at_commands(hint_at_command);
  add_run(line);
  add_attach(line);
  add_detach(line);
  add_deep(line);
  add_report(line);
  add_convert(line);
  add_check(line);
  add_compare(line);
  add_diff(line);
  add_explain(line);
  add_policy(line);
  add_rules(line);
  add_recover(line);
  add_view(line);
  add_serve(line);
  add_token(line);
  add_schema(line);
  add_relay(line);
  add_version(line);
  add_env(line);
  add_notebook(line);
  add_doctor(line);
  add_build_agent(line);
  add_pack_agent(line);
  add_counts(line);

  const ParsedLine parsed = line.parse({argv + 1, argv + argc});
  hide_token(argc, argv);
  if (parsed.wrong.empty()) return when_written(parsed.run(), usage_status(argc, argv));
  say(parsed.wrong);
  return usage_status(argc, argv);
}

}  // namespace
}  // namespace castscope::cli

int main(int argc, char** argv) { return castscope::cli::castscope_main(argc, argv); }
