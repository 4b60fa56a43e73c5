// castscope attach, detach, deep: what a running process is asked for.
#include <signal.h>

#include <cerrno>
#include <chrono>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/cli/attaching/asking.h"
#include "server/cli/attaching/control_socket.h"
#include "server/cli/commands/attach/attach_running.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/exit_statuses.h"
#include "server/cli/commands/fail.h"
#include "server/cli/job/proc.h"

namespace castscope::cli {
namespace {

struct AskOptions {
  int pid = 0, wait = 10, steps = 3;
  std::string output;  // of a job that castscope did not start
  bool by_gdb = false, force = false, stays = false;
};

// "" = it is no thread of another process.
std::string of_thread(int pid) {
  const pid_t process = process_of(pid);
  return process == 0 || process == pid ? ""
                                        : absl::StrCat(pid, " is a thread of process ", process, ": name the process");
}

std::string no_such_process(int pid) {
  if (start_ticks(pid) == 0) return absl::StrCat("there is no process ", pid);
  if (std::string sentence = of_thread(pid); !sentence.empty()) return sentence;
  return absl::StrCat("castscope is not in process ", pid,
                      ", or it has not imported torch yet: name a process of a job that `castscope run` started, or "
                      "castscope itself");
}

constexpr char kNobodyToAsk[] = "no process of this run has PyTorch at the moment, so that there is nothing to ask";

std::string state_text(const ControlState& s) {
  if (s.refuses()) return "cannot be watched: it has said why on its standard error";
  if (s.holds_on()) return "is watched, and carries out a policy: castscope does not let go of it";
  if (s.watches()) return s.wants_to_watch() ? "is watched" : "is watched until it enters its next region";
  return s.wants_to_watch() ? "has not used autocast since: it is watched from there on" : "is not watched";
}

void tell_states(const std::vector<ControlState>& states) {
  for (const ControlState& s : states) put(absl::StrCat("process ", s.pid, " ", state_text(s), "\n"));
}

// Why nothing came of a request.
std::string why_unanswered(const Target& target, const absl::Status& status) {
  if (!absl::IsNotFound(status) || target.pid == 0 || target.directory.is_recorded())
    return std::string(status.message());
  return absl::StrCat("nobody records process ", target.pid, " any more: `castscope attach ", target.pid,
                      "` does it again");
}

bool nobody_listens(const Target& target) {
  return absl::IsNotFound(ask_run(target.directory.path(), "status 0").status());
}

// Whether nobody records this process, which has let go of it all.
bool is_left_alone(const Target& target) {
  if (target.pid == 0 || !nobody_listens(target)) return false;
  const auto pages = ControlPage::all(target.directory.path(), target.pid);
  const auto state = pages.empty() ? std::nullopt : pages[0].read();
  return state.has_value() && state->is_away();
}

int carry_out(const AskOptions& options, const Question& question, bool (*is_refused)(const ControlState&)) {
  const auto target = target_of(options.pid);
  if (!target.has_value()) return fail(no_such_process(options.pid), kUsage);
  const auto asked = ask_and_wait(*target, question, std::chrono::seconds(options.wait));
  if (!asked.ok()) return fail(why_unanswered(*target, asked.status()), kIncompleteData);
  if (asked->states.empty()) return fail(kNobodyToAsk, kFound);
  tell_states(asked->states);
  for (const ControlState& s : asked->states)
    if (is_refused(s)) return kIncompleteData;
  return asked->done ? 0 : kFound;
}

// What was asked for in vain of a job that is recorded already; "" = nothing.
std::string in_vain(const AskOptions& options, const Target& target) {
  const bool names_place = !options.output.empty() || options.force;
  if (!names_place && !options.stays) return "";
  const std::string which = target.pid != 0 ? absl::StrCat("process ", target.pid) : "this job";
  const RunRecord record = target.directory.read_record().value_or(RunRecord());
  const std::string by = record.pid == 0 ? "" : absl::StrCat(" by process ", record.pid);
  const bool is_here = absl::StartsWith(record.stem, "/");  // and not at a collector
  const std::string into = is_here ? absl::StrCat(", into ", record.stem, ".castscope") : "";
  return absl::StrCat(which, " is recorded already", by, into, ": leave out ",
                      names_place ? "-o and --force, since what it casts goes there"
                                  : "--stay, since whoever records it decides how long");
}

// A job that was started under castscope has its recorder; any other gets one here.
int attach(const AskOptions& options) {
  const AttachRunning running{options.pid, options.output, options.by_gdb, options.force, options.stays};
  const auto target = target_of(options.pid);
  if (!target.has_value()) {
    if (const std::string sentence = of_thread(options.pid); !sentence.empty()) return fail(sentence, kUsage);
    return attach_to_running(running);
  }
  if (target->pid != 0 && nobody_listens(*target)) return record_again(running, target->directory);
  if (const std::string sentence = in_vain(options, *target); !sentence.empty()) return fail(sentence, kUsage);
  if (options.by_gdb) say(absl::StrCat("castscope is in process ", options.pid, " already: --gdb is not needed"));
  return carry_out(
      options,
      {.verb = "attach", .at_once = "attach-at-once", .is_done = [](const ControlState& s) { return !s.is_away(); }},
      [](const ControlState& s) { return s.refuses(); });
}

int detach(const AskOptions& options) {
  const auto target = target_of(options.pid);
  if (target.has_value() && is_left_alone(*target)) {
    put(absl::StrCat("process ", options.pid, " is not watched\n"));
    return 0;
  }
  return carry_out(options,
                   {.verb = "detach",
                    .at_once = "detach-at-once",
                    .is_done = [](const ControlState& s) { return !s.watches() || s.holds_on(); }},
                   [](const ControlState& s) { return s.holds_on(); });
}

int deep(const AskOptions& options) {
  const auto target = target_of(options.pid);
  if (!target.has_value()) return fail(no_such_process(options.pid), kUsage);
  const Question question{
      .verb = "deep", .argument = absl::StrCat(options.steps), .is_done = [](const ControlState& s) {
        return !s.watches() || s.deep_begun >= s.deep_asked;
      }};
  const auto asked = ask_and_wait(*target, question, std::chrono::seconds(options.wait));
  if (!asked.ok()) return fail(why_unanswered(*target, asked.status()), kIncompleteData);
  if (asked->states.empty()) return fail(kNobodyToAsk, kFound);
  bool all = asked->done;
  for (const ControlState& s : asked->states) {
    const std::uint32_t missing = s.deep_asked - s.deep_begun;
    const auto of_process = absl::StrCat("process ", s.pid);
    if (!s.watches()) {
      put(absl::StrCat(of_process, " is not watched: it makes the deep steps when castscope is attached\n"));
      all = false;
    } else if (missing > 0) {
      put(absl::StrCat(of_process, " has yet to begin ", missing, " of the steps: it does so as it goes on\n"));
    } else {
      put(absl::StrCat(of_process, " makes deep steps from step ", s.deep_first, " on: ", options.steps, "\n"));
    }
  }
  return all ? 0 : kFound;
}

void add_common(const Command& command, AskOptions& options) {
  command.option("PID", options.pid, "The process, or the castscope that records the run: then all of its processes")
      .required()
      .range(1, 1 << 22);
  command.option("--wait SECONDS", options.wait, "How long to wait until the process has come to it")
      .range(0, 3600)
      .shows_default();
}

}  // namespace

void add_attach(CommandLine& line) {
  const Command command = line.subcommand("attach", "Begin to watch a running job");
  auto options = std::make_shared<AskOptions>();
  add_common(command, *options);
  command.option("-o,--output NAME", options->output,
                 "For a job that castscope did not start: where the run goes, NAME.castscope and NAME.json");
  command.flag("--force", options->force, "Overwrite files that exist");
  command.flag("--gdb", options->by_gdb,
               "Come into a job that castscope did not start by gdb, where its Python is older than 3.14");
  command.flag("--stay", options->stays,
               "For a job that castscope did not start: go on after a detach, for whoever attaches again");
  command.footer(absl::StrCat(
      "Examples:\n"
      "  castscope run --armed -- python train.py   # costs nothing until somebody attaches\n"
      "  castscope attach 4711\n"
      "  castscope attach 4711 -o spike         # a job that was started without castscope, Python 3.14 or later\n"
      "  castscope attach 4711 --gdb -o spike   # … an older Python\n\n"
      "The job is watched from where it next enters autocast. A job that castscope started is recorded by that "
      "castscope; for any other job this command records it, until the job ends or until Ctrl-C, after which the job "
      "goes on unwatched.\n\n",
      exit_statuses_of("attach")));
  command.on_run([options] { return attach(*options); });
}

void add_detach(CommandLine& line) {
  const Command command = line.subcommand("detach", "Cease to watch a running job, which goes on");
  auto options = std::make_shared<AskOptions>();
  add_common(command, *options);
  command.footer(
      absl::StrCat("Examples:\n  castscope detach 4711\n  castscope attach 4711   # … and watch it again\n\n",
                   exit_statuses_of("detach")));
  command.on_run([options] { return detach(*options); });
}

void add_deep(CommandLine& line) {
  const Command command =
      line.subcommand("deep", "Ask a running job for deep steps, in which every operator is observed");
  auto options = std::make_shared<AskOptions>();
  add_common(command, *options);
  command.option("--steps N", options->steps, "How many steps, from the next one on")
      .range(1, 1'000'000)
      .shows_default();
  command.footer(absl::StrCat("Examples:\n  castscope deep 4711\n  castscope deep 4711 --steps 10 --wait 60\n\n",
                              exit_statuses_of("deep")));
  command.on_run([options] { return deep(*options); });
}

}  // namespace castscope::cli
