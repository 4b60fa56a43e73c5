#include "server/cli/commands/attach/attach_running.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "server/cli/agents/agents.h"
#include "server/cli/attaching/asking.h"
#include "server/cli/attaching/inject.h"
#include "server/cli/attaching/running.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/fail.h"
#include "server/cli/commands/late_recording.h"
#include "server/cli/commands/summary.h"
#include "server/cli/job/proc.h"
#include "server/cli/loading/trial.h"
#include "server/cli/recording/recording.h"
#include "server/cli/toolkit/preload.h"

namespace castscope::cli {
namespace {

using std::chrono::milliseconds;

// Ctrl-C and a service's stop end the watching, and not castscope before it has let go of the job.
class Interrupts {
 public:
  Interrupts() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    descriptor_ = signalfd(-1, &set, SFD_CLOEXEC);
  }
  ~Interrupts() { close(descriptor_); }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  bool came_within(milliseconds time) {
    pollfd wait{descriptor_, POLLIN, 0};
    came_ |= poll(&wait, 1, static_cast<int>(time.count())) > 0;
    return came_;
  }

 private:
  int descriptor_;
  bool came_ = false;
};

std::string link_of(pid_t pid, const char* name) {
  std::error_code error;
  return std::filesystem::read_symlink(absl::StrCat("/proc/", pid, "/", name), error).string();
}

RunRecord record_of(pid_t pid) {
  const Withholding withholding = withheld_by_environment();
  return {.command = command_line(pid),
          .cwd = link_of(pid, "cwd"),
          .stem = "",
          .begin_realtime_ns = realtime_ns(),
          .pid = getpid(),
          .pid_ticks = start_ticks(getpid()),
          .keep_all = false,
          .job = "",
          .redact = pattern_of(withholding),
          .no_source = withholding.no_source};
}

// The Python of the environment in which this PyTorch lies, if it lies in one: a process shows only the interpreter
// that the environment was made from.
std::string python_beside(const Running& process) {
  const std::string& library = process.torch_library;
  const std::string beside = library.substr(0, library.find("/lib/")) + "/bin/python";
  return access(beside.c_str(), X_OK) == 0 ? beside : process.executable;
}

// The agent for the PyTorch that the process has loaded.
absl::Status make_agent(const Running& process) {
  auto python = probe_python(python_beside(process));
  if (!python.ok()) return python.status();
  std::error_code error;
  if (!python->torch || !std::filesystem::equivalent(python->torch->library, process.torch_library, error)) {
    auto torch = describe_torch(std::filesystem::path(process.torch_library).parent_path().parent_path().string());
    if (!torch.ok()) return torch.status();
    python->torch = *std::move(torch);
  }
  return obtain_agent(*python, "", say).status();
}

absl::StatusOr<RunDirectory> bring_in(const AttachRunning& options) {
  const Running process = inspect(options.pid);
  if (!process.exists) return absl::InvalidArgumentError(absl::StrCat("there is no process ", options.pid));
  if (const std::string why = obstacle(process, rights_here()); !why.empty()) return absl::FailedPreconditionError(why);
  const auto way = way_into(process, options.by_gdb);
  if (!way.ok()) return way.status();
  const auto preload = obtain_preload();
  if (!preload.ok()) return preload.status();
  if (absl::Status status = make_agent(process); !status.ok())
    return absl::UnavailableError(
        absl::StrCat("there is no agent for the PyTorch in ", process.torch_library, ": ", status.message()));
  auto directory = RunDirectory::create();
  if (!directory.ok()) return directory.status();
  absl::Status status = prepare_injection(*directory, preload->library, agent_search_path(""));
  if (status.ok()) status = inject(process, *way, *directory);
  if (status.ok()) return directory;
  // A process that comes to it only now finds the directory gone, and does nothing.
  directory->discard();
  return status;
}

enum class Over { kJobEnded, kInterrupted, kDetached };

Over watch_until_over(const Target& target, Interrupts& interrupts, bool stays) {
  bool watched = false;
  for (;;) {
    const auto pages = ControlPage::all(target.directory.path(), target.pid);
    const auto state = pages.empty() ? std::nullopt : pages[0].read();
    if (!state.has_value()) return Over::kJobEnded;
    watched |= state->watches();
    if (!stays && watched && state->is_away() && !state->wants_to_watch()) return Over::kDetached;
    if (interrupts.came_within(milliseconds(20))) return Over::kInterrupted;
  }
}

Over let_go(const Target& target) {
  say("castscope lets go of the job, which goes on");
  const auto asked = ask_and_wait(target,
                                  {.verb = "detach",
                                   .at_once = "detach-at-once",
                                   .argument = "",
                                   .is_done = [](const ControlState& s) { return !s.watches(); }},
                                  std::chrono::seconds(10));
  if (absl::IsAborted(asked.status())) return Over::kJobEnded;
  if (!asked.ok() || !asked->done)
    say(absl::StrCat("process ", target.pid, " has not come to let go yet: it does so when it next enters autocast"));
  return Over::kInterrupted;
}

// The sentences for the run's report.
std::vector<std::string> notices_of(const Target& target) {
  std::vector<std::string> notices = target.directory.said();
  const auto state = ControlPage::left_by(target.directory.path(), target.pid);
  if (!state.has_value() || state->spans > 0) return notices;
  notices.push_back(absl::StrCat("castscope was attached to process ", target.pid,
                                 ", which did not enter autocast meanwhile: nothing of it was watched"));
  say(notices.back());
  return notices;
}

void finish(Recording& recording, const Target& target, Over over) {
  const RunDirectory& directory = target.directory;
  if (over == Over::kJobEnded) recording.relay().wait_until_quiet(milliseconds(2000));
  const std::vector<pid_t> left = directory.living_processes();
  RecordingResult result =
      recording.finish(std::nullopt, notices_of(target), over == Over::kJobEnded ? left : std::vector<pid_t>());
  // A process that goes on keeps its record, for whoever attaches to it again. One that ends from now on finds no
  // socket any more, and removes the directory itself.
  if (!directory.has_living_process() && result.relay.delivered) directory.discard();
  if (!result.problem.empty()) say(result.problem);
  if (result.run != nullptr) print_summary(*result.run, {result.output.run_file(), result.output.report_file()});
}

int record(const AttachRunning& options, const RunDirectory& directory) {
  RunRecord record = record_of(options.pid);
  const std::string when = time_for_names();
  OutputClaim claim;
  auto output =
      choose_output(options.output, redaction_of(record.redact)->command(record.command), when, options.force, claim);
  if (!output.ok()) return fail(output.status(), kUsage);
  if (const absl::Status status = check_writable(*output); !status.ok()) return fail(status, kUsage);
  record.stem = output->stem;
  if (const absl::Status status = directory.write_record(record); !status.ok()) say(std::string(status.message()));
  Interrupts interrupts;  // before any other thread
  const Target target{directory, options.pid};
  auto recording = Recording::begin({.directory = directory,
                                     .record = record,
                                     .output = *output,
                                     .at_start = false,
                                     .overwrite = options.force,
                                     .answers = true,
                                     .main_process = options.pid,
                                     .say = say,
                                     .collector = {},
                                     .settings = settings_of_job(record)});
  if (!recording.ok()) return fail(recording.status(), kUsage);
  if (const auto asked = ask_run(directory.path(), absl::StrCat("attach ", options.pid));
      !asked.ok() && start_ticks(options.pid) != 0) {
    (*recording)->discard();
    return fail(asked.status(), kIncompleteData);
  }
  say(absl::StrCat("watching process ", options.pid, " into ", output->run_file(),
                   ", from where it next enters autocast; Ctrl-C, or `castscope detach ", options.pid, "`, ends it"));
  const Over over = watch_until_over(target, interrupts, options.stays);
  finish(**recording, target, over == Over::kInterrupted ? let_go(target) : over);
  return 0;
}

}  // namespace

int attach_to_running(const AttachRunning& options) {
  const auto directory = bring_in(options);
  if (absl::IsUnimplemented(directory.status()) || absl::IsInvalidArgument(directory.status()))
    return fail(directory.status(), kUsage);
  if (!directory.ok()) return fail(directory.status(), kIncompleteData);
  return record(options, *directory);
}

int record_again(const AttachRunning& options, const RunDirectory& directory) { return record(options, directory); }

}  // namespace castscope::cli
