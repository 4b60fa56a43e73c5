// castscope recover: makes the run files of runs whose recorder is gone, or deletes what is left of them.
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/exit_statuses.h"
#include "server/cli/commands/fail.h"
#include "server/cli/commands/late_recording.h"
#include "server/cli/commands/recover_spools.h"
#include "server/cli/commands/recover_targets.h"
#include "server/cli/commands/run_options.h"
#include "server/cli/commands/summary.h"
#include "server/cli/commands/watches.h"
#include "server/cli/job/proc.h"
#include "server/cli/leftovers/directory_lock.h"
#include "server/cli/leftovers/leftovers.h"
#include "server/cli/leftovers/spooled.h"
#include "server/relay/unreadable.h"
#include "server/report/text/words.h"
#include "server/store/run/completeness.h"

namespace castscope::cli {
namespace {

struct RecoverOptions {
  std::vector<std::string> names;
  std::string output;
  CollectorAddress collector;
  Withholding withholding;
  bool all = false, force = false, list = false, discard = false;
};

void say_what_stays(const RunDirectory& directory) {
  say(absl::StrCat("what could not be read stays in ", directory.path(),
                   ": the castscope that recorded it, or one of the same format, reads it with `castscope recover ",
                   directory.path(), "`; `castscope recover --discard ", directory.path(), "` deletes it"));
}

void say_what_waits(const RunDirectory& directory) {
  say(absl::StrCat("what the collector did not take stays in ", directory.path(), ": `castscope recover ",
                   directory.path(), "` sends it; `castscope recover --discard ", directory.path(), "` deletes it"));
}

bool could_read_all(const relay::Summary& summary) {
  return std::all_of(summary.processes.begin(), summary.processes.end(),
                     [](const auto& process) { return process.problem.empty(); });
}

bool took_all(const relay::Summary& summary) { return summary.delivered && could_read_all(summary); }

// Where the run's file goes, if it does not go on in the one that its recorder had begun.
absl::StatusOr<Output> place(const RunRecord& record, const RecoverOptions& options, OutputClaim& claim) {
  std::string wish = options.output;
  std::error_code error;
  if (wish.empty() && !record.stem.empty() && !std::filesystem::exists(Output{record.stem}.run_file(), error))
    wish = record.stem + ".castscope";
  auto chosen =
      choose_output(wish, redaction_of(record.redact)->command(record.command), time_for_names(), options.force, claim);
  if (!chosen.ok()) return chosen;
  if (absl::Status status = check_writable(*chosen); !status.ok()) return status;
  return chosen;
}

int record(const RunDirectory& directory, RecordingOptions recorded) {
  auto recording = Recording::begin(std::move(recorded));
  if (!recording.ok()) return fail(recording.status(), kUsage);
  if (directory.has_living_process()) {
    say("the job still runs: recording goes on until it ends");
    wait_for_last_process(**recording, directory);
  }
  RecordingResult result = (*recording)->finish(std::nullopt, directory.said());
  if (!result.problem.empty()) say(result.problem);
  if (result.run == nullptr || !result.relay.delivered) return kIncompleteData;
  const bool whole = took_all(result.relay);
  if (whole) directory.discard();
  say(absl::StrCat("recovered ", result.output.run_file()));
  if (!result.missing.empty()) say(result.missing);
  print_summary(*result.run, {result.output.run_file(), result.output.report_file()});
  if (!whole) say_what_stays(directory);
  return whole && store::is_complete(result.run->data) ? 0 : kIncompleteData;
}

// The rest of a run goes where its beginning went: first what its recorder had put on disk, then what it had not read.
int send_to_collector(const RunDirectory& directory, RunRecord run, CollectorAddress collector,
                      const RecoverOptions& options) {
  InSpool spool = in_spool();
  for (const std::string& path : spool.in_use)  // what comes after it must not overtake it
    if (is_of_run(path, directory.id()))
      return fail(absl::StrCat(path, ": another castscope is at work with it"), kIncompleteData);
  std::vector<relay::Waiting>& of_it = spool.waiting;
  std::erase_if(of_it, [&](const relay::Waiting& one) { return one.run_id != directory.id(); });
  // A recorder that was killed while it wrote leaves a file that is cut short: what it lacks is still in the directory.
  if (!send_spools(of_it, options.collector).all) return kIncompleteData;
  run.pid = getpid(), run.pid_ticks = start_ticks(getpid());
  run.collector = collector.address;
  run.token_proof = token_proof_of(collector);
  (void)directory.write_record(run);
  RecordingOptions recorded{.directory = directory,
                            .record = run,
                            .output = {run.stem},
                            .main_process = first_attached(directory),
                            .collector = collector,
                            .relay_goes_on = !run.relay.empty()};
  auto recording = Recording::begin(std::move(recorded));
  if (!recording.ok()) return fail(recording.status(), kUsage);
  if (directory.has_living_process()) {
    say("the job still runs: recording goes on until it ends");
    wait_for_last_process(**recording, directory);
  }
  const RecordingResult result = (*recording)->finish(std::nullopt, directory.said());
  if (!result.problem.empty()) say(result.problem);
  if (result.relay.spool.empty() && !took_all(result.relay)) {
    could_read_all(result.relay) ? say_what_waits(directory) : say_what_stays(directory);
    return kIncompleteData;
  }
  directory.discard();
  if (result.relay.spool.empty())
    say(absl::StrCat("the run is kept by the collector at ", collector.address));
  else
    say(absl::StrCat("what the collector lacks is kept in ", result.relay.spool));
  return result.relay.delivered ? 0 : kIncompleteData;
}

// The patterns and --no-source of the recorded run stay in force; options of this command can only add to them.
absl::Status withhold_too(Withholding withholding, RunRecord& run) {
  if (absl::Status status = complete(withholding); !status.ok()) return status;
  run.no_source |= withholding.no_source;
  const std::string now = pattern_of(withholding);
  if (now.empty() || now == run.redact || hides_everything(run.redact)) return absl::OkStatus();
  const auto both = redaction::in_one_pattern(run.redact.empty() ? std::vector{now} : std::vector{run.redact, now});
  if (both.ok()) run.redact = *both;
  return both.status();
}

int recover(const RunDirectory& directory, const RecoverOptions& options) {
  const DirectoryLock lock(directory.path());
  if (lock.is_taken())
    return fail(absl::StrCat(directory.path(), " is being recovered by another castscope"), kIncompleteData);
  RunRecord run = directory.read_record().value_or(describe(directory));
  if (absl::Status status = withhold_too(options.withholding, run); !status.ok()) return fail(status, kUsage);
  CollectorAddress collector = options.collector;
  const bool is_named = !collector.address.empty();
  if (!is_named) collector.address = run.collector;
  if (absl::Status status = complete(collector); !status.ok()) return fail(status, kUsage);
  if (!collector.address.empty() && options.output.empty()) {
    if (!is_named)
      if (absl::Status status =
              keep_token_from_others(collector, {.address = run.collector, .token_proof = run.token_proof});
          !status.ok())
        return fail(status, kIncompleteData);
    return send_to_collector(directory, run, collector, options);
  }
  Output output{run.stem};
  OutputClaim claim;
  const bool resume =
      options.output.empty() && claim.take(run.stem) && !run.stem.empty() && is_file_of(output.run_file(), directory);
  // An empty run file would only be in the way of a castscope that can read the segments.
  if (const auto why = resume ? std::vector<std::string>() : relay::why_unreadable(directory.path()); !why.empty()) {
    for (const std::string& sentence : why) say(sentence);
    say_what_stays(directory);
    return kIncompleteData;
  }
  if (!resume) {
    const auto chosen = place(run, options, claim);
    if (!chosen.ok()) return fail(chosen.status(), kUsage);
    output = *chosen;
  }
  std::optional<std::vector<pid_t>> expected;
  if (!resume) expected = directory.attached();
  run.pid = getpid();
  run.pid_ticks = start_ticks(getpid());
  run.stem = output.stem;
  (void)directory.write_record(run);
  return record(directory, {.directory = directory,
                            .record = run,
                            .output = output,
                            .overwrite = options.force,
                            .resume = resume,
                            .main_process = first_attached(directory),
                            .expected = expected,
                            .collector = {},
                            .sent_elsewhere = run.collector.empty() ? "" : sent_to(run.collector),
                            .settings = settings_of_job(run)});
}

int discard(const RunDirectory& directory, const RecoverOptions& options) {
  const std::string name = title(directory);
  if (directory.is_recorded() || directory.has_living_process()) {
    say(absl::StrCat(directory.path(), " belongs to a job that still runs: left alone"));
    return options.all ? 0 : kIncompleteData;
  }
  const bool gone = directory.discard();
  say(gone ? absl::StrCat("deleted ", name)
           : absl::StrCat("deleted castscope's files in ", name, "; it holds other files, which stay"));
  return 0;
}

int list(const LeftOver& all) {
  std::string text;
  for (const RunDirectory& directory : all.directories) text += told(directory, std::time(nullptr));
  for (const relay::Waiting& one : all.spools) text += told(one, std::time(nullptr));
  for (const DamagedSpool& one : all.damaged) text += told(one);
  if (!put(text)) return kUsage;
  if (!text.empty())
    say("`castscope recover RUN…` makes the run files of those that are named, or sends them to their collector, --all "
        "of all; with --discard they are deleted");
  return 0;
}

// Returns "" or what is wrong with the options.
std::string problem_of(const RecoverOptions& options) {
  const bool takes = options.all || !options.names.empty();
  if (options.discard && !takes)
    return "--discard needs to be told what to delete, RUN… or --all: `castscope recover` lists what is left over";
  if ((options.force || !options.output.empty()) && !takes)
    return "which run is to be recovered? Name it, or give --all: `castscope recover` lists what is left over";
  if (options.all && !options.names.empty()) return "--all takes what is not named, too: give one of the two";
  if (!options.output.empty() && !options.collector.address.empty())
    return "-o makes a run file here, --collector sends the run there: give one of the two";
  if (!options.output.empty() && (options.all || options.names.size() > 1))
    return "-o is the name of one run: name one RUN";
  return "";
}

// Before any file there is read, written or deleted.
absl::Status check_all(const std::vector<RunDirectory>& directories, const RecoverOptions& options) {
  for (const RunDirectory& directory : directories) {
    if (absl::Status status = directory.check(); !status.ok()) return status;
    if (options.discard || options.list || !directory.is_recorded()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(directory.path(), " is still being recorded by process ", directory.read_record()->pid));
  }
  return absl::OkStatus();
}

// Returns true if a recorder wrote a part of the run into its file or sent it to a collector: `castscope recover` adds
// the rest there, and cannot change that part.
bool is_begun(const RunDirectory& directory, const RunRecord& run, const RecoverOptions& options) {
  if (!options.output.empty()) return false;
  if (!run.collector.empty()) return true;
  if (!options.collector.address.empty()) return false;
  return !run.stem.empty() && is_file_of(Output{run.stem}.run_file(), directory);
}

// The user expects a text that --redact names to be nowhere afterwards.
absl::Status check_withholding(const LeftOver& left, const RecoverOptions& options) {
  if (!options.withholding.any()) return absl::OkStatus();
  constexpr char kTooLate[] = "--redact and --no-source come too late for what is written already: ";
  if (!left.spools.empty())
    return absl::InvalidArgumentError(
        absl::StrCat(kTooLate, report::on_one_line(left.spools.front().path),
                     " is sent as it is, without these options, or deleted with --discard"));
  for (const RunDirectory& directory : left.directories) {
    if (options.all && directory.has_living_process()) continue;  // it is left alone
    const RunRecord run = directory.read_record().value_or(describe(directory));
    RunRecord changed = run;
    if (absl::Status status = withhold_too(options.withholding, changed); !status.ok()) return status;
    const bool adds = changed.redact != run.redact || changed.no_source != run.no_source;
    if (adds && is_begun(directory, run, options))
      return absl::InvalidArgumentError(
          absl::StrCat(kTooLate, "the run in ", directory.path(),
                       " goes on where its recorder had begun it. `-o NAME` makes another file, of what is left here"));
  }
  return absl::OkStatus();
}

// Before anything is sent, written or deleted.
absl::Status check_use(const LeftOver& left, const RecoverOptions& options) {
  if (!options.output.empty() && !left.spools.empty())
    return absl::InvalidArgumentError(absl::StrCat("-o makes a run file here, and ",
                                                   report::on_one_line(left.spools.front().path),
                                                   " goes to a collector: leave -o out"));
  return check_withholding(left, options);
}

int recover_all(const RecoverOptions& options) {
  if (const std::string problem = problem_of(options); !problem.empty()) return fail(problem, kUsage);
  if (Withholding understood = options.withholding; understood.any())
    if (absl::Status status = complete(understood); !status.ok()) return fail(status, kUsage);
  const absl::StatusOr<LeftOver> found = options.names.empty() ? everything(options.discard) : all_named(options.names);
  if (!found.ok()) return fail(found.status(), kIncompleteData);
  const LeftOver& left = *found;
  const std::vector<RunDirectory>& directories = left.directories;
  if (absl::Status status = check_all(directories, options); !status.ok()) return fail(status, kIncompleteData);
  if (options.list || (options.names.empty() && !options.all)) return list(left);
  if (!options.discard)
    if (absl::Status status = check_use(left, options); !status.ok()) return fail(status, kUsage);
  int status = options.discard
                   ? discard_spools(left.spools, left.damaged)
                   : std::max(send_spools(left.spools, options.collector).status(), say_damaged(left.damaged));
  for (const RunDirectory& directory : directories) {
    if (options.discard) {
      status = std::max(status, discard(directory, options));
    } else if (options.all && directory.has_living_process()) {
      // People who clean up after a crash do not want to wait for a job that may run for days.
      say(absl::StrCat(directory.path(), " belongs to a job that still runs: left alone; name it to have it recorded"));
    } else {
      status = std::max(status, recover(directory, options));
    }
  }
  return status;
}

}  // namespace

void add_recover(CommandLine& line) {
  const Command command = line.subcommand("recover", "Make the run files of runs whose recorder died");
  auto options = std::make_shared<RecoverOptions>();
  command
      .option("RUN", options->names,
              "The run directory of a run to recover, even if its job still runs, or a file of the spool; without it, "
              "and without --all, what "
              "is left over is listed")
      .given();
  command.flag("--all", options->all,
               "Recover all that is left over of jobs that have ended. It is everything of this user: on a shared "
               "account, other people's jobs as well");
  command.option("-o,--output NAME", options->output,
                 "Where the run goes; by default where it was meant to go, or into this folder if that is not known");
  command.option("--collector HOST:PORT", options->collector.address,
                 "The collector that gets the run; by default the one that it was sent to");
  add_credential_options(command, options->collector);
  add_withholding_options(command, options->withholding);
  command.flag("--force", options->force, "Overwrite files that exist");
  command.flag("--list", options->list, "List what is left over, or what is named");
  command.flag("--discard", options->discard, "Delete what is left over instead").excludes("--list");
  command.footer(
      absl::StrCat("Examples:\n"
                   "  castscope recover\n"
                   "  castscope recover run-1700000000-123-456\n"
                   "  castscope recover --all --collector collector.example.org:7390 --tls\n"
                   "  castscope recover -o rescued /dev/shm/castscope-1000/run-1700000000-123-456\n"
                   "  castscope recover --discard --all\n\n",
                   exit_statuses_of("recover")));
  command.on_run([options] {
    if (const absl::Status status = complete(options->collector); !status.ok()) return fail(status, kUsage);
    return recover_all(*options);
  });
}

}  // namespace castscope::cli
