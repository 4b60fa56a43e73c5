// castscope relay and recover: record a run whose job castscope did not start, or whose recorder is gone.
#include <signal.h>
#include <unistd.h>

#include <fcntl.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/settings_file.h"
#include "server/cli/commands/summary.h"
#include "server/cli/job/job_environment.h"
#include "server/cli/job/proc.h"
#include "server/cli/recording/recording.h"
#include "server/relay/unreadable.h"
#include "server/store/read/run_heading.h"

namespace castscope::cli {
namespace {

// Nobody reads messages about a wrong castscope.json here; `castscope check` reports it later.
rules::Settings settings_of_job(const RunRecord& record) {
  auto settings = settings_for("", record.cwd);
  return settings.ok() ? *settings : rules::Settings();
}

using std::chrono::milliseconds;

// Describes a job that castscope did not start, by its first process that had an agent.
RunRecord describe(const RunDirectory& directory) {
  RunRecord record{.command = {},
                   .cwd = working_folder(),
                   .stem = "",
                   .begin_realtime_ns = realtime_ns(),
                   .pid = getpid(),
                   .pid_ticks = start_ticks(getpid())};
  for (pid_t pid : directory.attached()) {
    record.command = command_line(pid);
    if (!record.command.empty()) break;
  }
  return record;
}

pid_t first_attached(const RunDirectory& directory) {
  std::vector<pid_t> pids = directory.attached();
  return pids.empty() ? 0 : pids[0];
}

// Becomes the relay of this run; returns false if the run has one.
bool claim(const RunDirectory& directory) {
  int fd = open((directory.path() + "/relay.lock").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd);
  return fd >= 0;
}
void give_up_claim(const RunDirectory& directory) { unlink((directory.path() + "/relay.lock").c_str()); }

// A command like `sh -c 'python a.py; python b.py'` has moments without any process of PyTorch.
constexpr milliseconds kGrace{500};

void wait_for_last_process(Recording& recording, const RunDirectory& directory) {
  for (;;) {
    while (directory.has_living_process()) recording.relay().wait_until_quiet(milliseconds(50)), usleep(50'000);
    recording.relay().wait_until_quiet(kGrace);
    usleep(static_cast<useconds_t>(std::chrono::microseconds(kGrace).count()));
    if (directory.has_living_process()) continue;
    // A process that starts from now on finds no lock and starts its own relay; one that started just before is found
    // below.
    give_up_claim(directory);
    if (!directory.has_living_process() || !claim(directory)) return;
  }
}

// Nobody reads a relay's messages: a run that its collector did not take is recorded where a run without a collector
// would be.
RecordingResult record_here(RecordingOptions options, const std::string& why) {
  const RunDirectory& directory = options.directory;
  std::vector<std::string> notices = directory.said();
  notices.push_back(absl::StrCat("the collector at ", options.collector.address, " did not take this run (", why,
                                 "): what the collector has not acknowledged is recorded here"));
  options.collector = {};
  options.expected = directory.attached();
  auto recording = Recording::begin(options);
  if (!recording.ok()) return {};
  wait_for_last_process(**recording, directory);
  return (*recording)->finish(std::nullopt, notices);
}

int relay_until_end(const std::string& path, CollectorAddress collector) {
  RunDirectory directory(path);
  if (!directory.check().ok()) return kOwnFailure;
  collector.token = variable("CASTSCOPE_TOKEN");
  RunRecord record = describe(directory);
  const std::string when = local_time_for_names();
  OutputClaim claim;
  auto output = choose_output(variable("CASTSCOPE_OUT"), record.command, when, false, claim);
  if (!output.ok() && absl::IsAlreadyExists(output.status())) {
    output = choose_output("", record.command, when, false, claim);
  }
  if (!output.ok() || !check_writable(*output).ok()) output = fallback_output(record.command, when, claim);
  record.stem = output->stem;
  (void)directory.write_record(record);
  RecordingOptions options{.directory = directory,
                           .record = record,
                           .output = *output,
                           .deep = variable("CASTSCOPE_DEEP"),
                           .gpu = variable("CASTSCOPE_GPU"),
                           .overwrite = false,
                           .resume = false,
                           .main_process = first_attached(directory),
                           .collector = collector,
                           .settings = settings_of_job(record)};
  auto recording = Recording::begin(options);
  RecordingResult result;
  if (recording.ok()) {
    wait_for_last_process(**recording, directory);
    result = (*recording)->finish(std::nullopt, directory.said());
  } else {
    result.problem = std::string(recording.status().message());
  }
  if (!result.relay.delivered && !collector.address.empty()) result = record_here(options, result.problem);
  if (!result.relay.delivered) return kOwnFailure;  // the segments stay for `castscope recover`
  directory.discard_unless_segments();
  return 0;
}

// --- recover -----------------------------------------------------------------------------------------------------

struct RecoverOptions {
  std::string directory, output;
  bool force = false, list = false, discard = false;
};

std::vector<RunDirectory> left_over(const RecoverOptions& options) {
  if (!options.directory.empty()) return {RunDirectory(options.directory)};
  std::vector<RunDirectory> result;
  for (const RunDirectory& directory : RunDirectory::all()) {
    if (!directory.is_recorded() && (directory.has_segments() || directory.read_record())) result.push_back(directory);
  }
  return result;
}

// Describes the run in one line, whatever the command contains.
std::string title(const RunDirectory& directory) {
  auto record = directory.read_record();
  std::string command;
  for (const std::string& word : record ? record->command : std::vector<std::string>{})
    absl::StrAppend(&command, " ", word);
  command = one_line(command, 100);
  return absl::StrCat(directory.path(), command.empty() ? "" : ":", command);
}

// Whether the path at which the recorder had begun to write still holds this run's file.
bool is_file_of(const std::string& path, const RunDirectory& directory) {
  const auto heading = store::read_heading(path);
  return heading.ok() && heading->start.run_id == directory.id();
}

void say_what_stays(const RunDirectory& directory) {
  say(absl::StrCat("what could not be read stays in ", directory.path(),
                   ": the castscope that recorded it, or one of the same format, reads it with `castscope recover`; "
                   "`castscope recover --discard` deletes it"));
}

bool took_all(const relay::Summary& summary) {
  return summary.delivered && std::all_of(summary.processes.begin(), summary.processes.end(),
                                          [](const auto& process) { return process.problem.empty(); });
}

int recover(const RunDirectory& directory, const RecoverOptions& options) {
  if (directory.is_recorded()) {
    say(absl::StrCat(directory.path(), " is still being recorded by process ", directory.read_record()->pid));
    return kOwnFailure;
  }
  RunRecord record = directory.read_record().value_or(describe(directory));
  Output output{record.stem};
  OutputClaim claim;
  bool resume = options.output.empty() && claim.take(record.stem) && !record.stem.empty() &&
                is_file_of(output.run_file(), directory);
  // An empty run file would only be in the way of a castscope that can read the segments.
  if (const auto why = resume ? std::vector<std::string>() : relay::why_unreadable(directory.path()); !why.empty()) {
    for (const std::string& sentence : why) say(sentence);
    say_what_stays(directory);
    return kOwnFailure;
  }
  if (!resume) {
    std::string wish = options.output;
    std::error_code error;
    if (wish.empty() && !record.stem.empty() && !std::filesystem::exists(output.run_file(), error))
      wish = record.stem + ".castscope";
    auto chosen = choose_output(wish, record.command, local_time_for_names(), options.force, claim);
    absl::Status status = chosen.ok() ? check_writable(*chosen) : chosen.status();
    if (!status.ok()) {
      say(std::string(status.message()));
      return kOwnFailure;
    }
    output = *chosen;
  }
  std::optional<std::vector<pid_t>> expected;
  if (!resume) expected = directory.attached();
  record.pid = getpid();
  record.pid_ticks = start_ticks(getpid());
  record.stem = output.stem;
  (void)directory.write_record(record);
  auto recording = Recording::begin({.directory = directory,
                                     .record = record,
                                     .output = output,
                                     .overwrite = options.force,
                                     .resume = resume,
                                     .main_process = first_attached(directory),
                                     .expected = expected,
                                     .collector = {},
                                     .settings = settings_of_job(record)});
  if (!recording.ok()) {
    say(std::string(recording.status().message()));
    return kOwnFailure;
  }
  if (directory.has_living_process()) {
    say("the job still runs: recording goes on until it ends");
    wait_for_last_process(**recording, directory);
  }
  RecordingResult result = (*recording)->finish(std::nullopt, directory.said());
  if (!result.problem.empty()) say(result.problem);
  if (result.run == nullptr || !result.relay.delivered) return kOwnFailure;
  const bool whole = took_all(result.relay);
  if (whole) directory.discard();
  say(absl::StrCat("recovered ", result.output.run_file()));
  if (!result.missing.empty()) say(result.missing);
  print_summary(*result.run, {result.output.run_file(), result.output.report_file()});
  if (!whole) say_what_stays(directory);
  return !whole || (expected && !expected->empty() && result.relay.processes.empty()) ? kOwnFailure : 0;
}

int discard(const RunDirectory& directory) {
  const std::string name = title(directory);
  if (directory.is_recorded() || directory.has_living_process()) {
    say(absl::StrCat(directory.path(), " belongs to a job that still runs: left alone"));
    return 0;
  }
  const bool gone = directory.discard();
  say(gone ? absl::StrCat("deleted ", name)
           : absl::StrCat("deleted castscope's files in ", name, "; it holds other files, which stay"));
  return 0;
}

int recover_all(const RecoverOptions& options) {
  std::vector<RunDirectory> directories = left_over(options);
  if (!options.directory.empty()) {  // before any file there is read, written or deleted
    if (absl::Status status = directories[0].check(); !status.ok()) {
      say(std::string(status.message()));
      return kOwnFailure;
    }
  }
  if (directories.empty()) say("there is nothing to recover");
  int status = 0;
  for (const RunDirectory& directory : directories) {
    if (options.list) {
      std::printf("%s\n", title(directory).c_str());
    } else if (options.discard) {
      status = std::max(status, discard(directory));
    } else if (options.directory.empty() && directory.has_living_process()) {
      // People who clean up after a crash do not want to wait for a job that may run for days.
      say(absl::StrCat(directory.path(), " belongs to a job that still runs: left alone; name it to have it recorded"));
    } else {
      status = std::max(status, recover(directory, options));
    }
  }
  return status;
}

}  // namespace

void add_relay(CommandLine& line) {
  const Command command = line.subcommand("relay", "Relay a run that the preload library began").hidden();
  auto directory = std::make_shared<std::string>();
  auto collector = std::make_shared<CollectorAddress>();
  command.option("--run-dir FOLDER", *directory, "The directory of the run, which the preload library made").required();
  command.option("--collector HOST:PORT", collector->address,
                 "Send the run to a `castscope serve` instead of writing a run file");
  command.on_run([directory, collector] { return relay_until_end(*directory, *collector); });
}

void add_recover(CommandLine& line) {
  const Command command = line.subcommand("recover", "Make the run file of a run whose recorder died");
  auto options = std::make_shared<RecoverOptions>();
  command.option("RUN_DIRECTORY", options->directory,
                 "Recover only this run, even if its job still runs; by default all runs that are left over");
  command.option("-o,--output NAME", options->output, "Where the run goes, instead of where it was meant to go");
  command.flag("--force", options->force, "Overwrite files that exist");
  command.flag("--list", options->list, "Only list what is left over");
  command.flag("--discard", options->discard, "Delete what is left over instead");
  command.footer(
      "Examples:\n"
      "  castscope recover --list\n"
      "  castscope recover\n"
      "  castscope recover -o rescued /dev/shm/castscope-1000/run-1700000000-123-456\n\n"
      "Exit status: 0, 125 when a run file cannot be made, or a run was not seen whole.");
  command.on_run([options] { return recover_all(*options); });
}

}  // namespace castscope::cli
