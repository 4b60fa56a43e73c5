// castscope run: the main command, from the job's start to its report.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/exit_statuses.h"
#include "server/cli/commands/run/live_viewer.h"
#include "server/cli/commands/run/run_end.h"
#include "server/cli/commands/run_options.h"
#include "server/cli/commands/watches.h"
#include "server/cli/job/armed_job.h"
#include "server/cli/job/job.h"
#include "server/cli/job/job_environment.h"
#include "server/cli/job/last_resort.h"
#include "server/cli/job/nothing_seen.h"
#include "server/cli/job/policy_variables.h"
#include "server/cli/job/proc.h"
#include "server/cli/job/ranks.h"
#include "server/cli/recording/recording.h"
#include "server/cli/toolkit/child.h"
#include "server/policy/compiled.h"

namespace castscope::cli {
namespace {

absl::StatusOr<Output> place_of_output(const RunOptions& options, const std::string& when, OutputClaim& claim) {
  const std::string named = named_for_rank(options.output, rank_in_names());
  if (!options.collector.address.empty()) {  // the collector has the files; it only gets a name
    std::string wish = std::filesystem::path(without_suffix(named)).filename().string();
    return Output{wish.empty() ? absl::StrCat(telling_name(told_command(options)), "-", when) : wish};
  }
  auto output = choose_output(named, told_command(options), when, options.force, claim);
  if (absl::IsAlreadyExists(output.status())) return output;
  absl::Status writable = output.ok() ? check_writable(*output) : output.status();
  if (writable.ok()) return output;
  Output fallback = fallback_output(told_command(options), when, claim);
  absl::Status also = check_writable(fallback);
  if (!also.ok()) return writable;
  say(absl::StrCat(writable.message(), "; the run is recorded in ", fallback.run_file(), " instead"));
  return fallback;
}

int could_not_start(SignalForwarding& signals, const RunOptions& options, const SignalForwarding::StartError& error) {
  if (error.no_process_left && !options.demands_policy()) {  // as with `exec`: the job takes over this process
    say("the limits (ulimit -u, -v) allow no process beside castscope; the job takes its place and runs unobserved");
    signals.become(options.command, environment_with(lent_package()));
  }
  say(error.sentence);
  return error.shell_status;
}

// Returns what there is to say of a job that will not be observed; "" = nothing. Where only the named Python has no
// agent, others of the job may have one.
std::string sentence_of(const RunOptions& options, const Preparation& prepared) {
  if (prepared.unobserved_why.empty()) return "";
  const bool may_be_observed = prepared.is_preloaded && options.enforce.empty();
  return may_be_observed ? absl::StrCat(prepared.unobserved_why, ": processes with this PyTorch run unobserved")
                         : unobserved_sentence(options, prepared.unobserved_why);
}

// Runs the job without a recording: the user's job matters more than the record of it. In other precisions than the
// user asked for it would be another job.
int run_unobserved(SignalForwarding& signals, const RunOptions& options, const std::string& why) {
  say(unobserved_sentence(options, why));
  if (options.demands_policy()) return kOwnFailure;
  SignalForwarding::StartError error;
  if (signals.start(options.command, environment_with(lent_package()), error) < 0)
    return could_not_start(signals, options, error);
  leave_as(signals.wait());
}

// Processes that the job left behind get a moment to end with it. Those that do not end go on unrecorded: users wait
// for the job, not for the processes that it put into the background.
std::vector<pid_t> wait_for_others(relay::Relay& relay, const RunDirectory& directory) {
  using std::chrono::milliseconds;
  const auto deadline = std::chrono::steady_clock::now() + milliseconds(500);
  std::vector<pid_t> left = directory.living_processes();
  while (!left.empty() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(milliseconds(10));
    left = directory.living_processes();
  }
  relay.wait_until_quiet(left.empty() ? milliseconds(500) : milliseconds(0));
  return left;
}

std::string about(const std::vector<pid_t>& left, redaction::Redaction& redaction) {
  std::string names;
  for (std::size_t i = 0; i < left.size() && i < 3; i++) {
    const std::string words = redaction.line(command_line(left[i]));  // before it is cut: half a secret is none to it
    absl::StrAppend(&names, i > 0 ? ", " : "", left[i], words.empty() ? "" : ": ", one_line(words, 60));
  }
  if (left.size() > 3) absl::StrAppend(&names, ", …");
  return left.size() == 1
             ? absl::StrCat("a process of the job goes on (", names, "): what it casts from here on is not recorded")
             : absl::StrCat(left.size(), " processes of the job go on (", names,
                            "): what they cast from here on is not recorded");
}

constexpr char kInner[] = "another castscope, started inside this run, records the job: ";

// Tells an outer castscope, which sees nothing of the job.
void tell_outer(const std::string& where) {
  const char* path = getenv("CASTSCOPE_RUN");
  const RunDirectory outer(path != nullptr ? path : "");
  if (outer.check().ok()) outer.note(absl::StrCat(kInner, "it is not recorded here, but ", where));
}

absl::Status enforce_in(const RunDirectory& directory, const RunOptions& options, std::vector<std::string>& variables) {
  const std::string compiled = policy::compiled(*options.settings.policy);
  const absl::StatusOr<std::string> path = directory.write_policy(compiled);
  if (!path.ok()) return path.status();
  for (std::string& variable : enforcing_variables(compiled, *path, options.all_kernels, options.enforce_if_possible))
    variables.push_back(std::move(variable));
  return absl::OkStatus();
}

// Adds the variables by which the job's processes learn of these options.
absl::Status add_variables(const RunOptions& options, const RunDirectory& directory, Preparation& prepared) {
  std::vector<std::string>& variables = prepared.variables;
  if (!options.deep.empty()) variables.push_back(absl::StrCat("CASTSCOPE_DEEP=", options.deep));
  if (!options.gpu.empty()) variables.push_back(absl::StrCat("CASTSCOPE_GPU=", options.gpu));
  if (options.apex) variables.emplace_back(kApexVariable);
  if (options.armed) variables.emplace_back("CASTSCOPE_ARMED=1");
  // Parts of a policy that Python carries out without an agent would make a third thing of the job.
  if (options.enforce.empty() || !prepared.unobserved_why.empty()) return absl::OkStatus();
  return enforce_in(directory, options, variables);
}

RunRecord record_of(const RunOptions& options, const Output& output) {
  return {.command = options.command,
          .cwd = working_folder(),
          .stem = output.stem,
          .begin_realtime_ns = realtime_ns(),
          .pid = getpid(),
          .pid_ticks = start_ticks(getpid()),
          .keep_all = options.keep == "all",
          .job = batch_job(),
          .collector = options.collector.address,
          .token_proof = token_proof_of(options.collector),
          .relay = relay::fresh_relay_id(),
          .key = new_run_key(),
          .secret = new_run_key(),
          .redact = pattern_of(options.withholding),
          .no_source = options.withholding.no_source};
}

// Begins to record, in another place if the disk or the quota is full; `recorded` then says where.
absl::StatusOr<std::unique_ptr<Recording>> begin_recording(const RunOptions& options, const std::string& when,
                                                           OutputClaim& claim, RecordingOptions& recorded) {
  auto recording = Recording::begin(recorded);
  if (recording.ok() || !options.collector.address.empty()) return recording;
  recorded.output = fallback_output(told_command(options), when, claim);
  recorded.overwrite = false;
  recorded.record.stem = recorded.output.stem;
  (void)recorded.directory.write_record(recorded.record);
  auto elsewhere = Recording::begin(recorded);
  if (!elsewhere.ok()) return recording;
  say(absl::StrCat(recording.status().message(), "; the run is recorded in ", recorded.output.run_file(), " instead"));
  return elsewhere;
}

[[noreturn]] void go_on_unrecorded(SignalForwarding& signals, const RunDirectory& directory, OutputClaim& claim,
                                   const absl::Status& problem) {
  say(absl::StrCat(problem.message(), "; the job goes on unrecorded"));
  const JobEnd end = signals.wait();
  directory.discard(), claim.release();
  leave_as(end);
}

// Tells the user, and a castscope around this one, where the run is recorded.
void say_where_recorded(const RunOptions& options, const Output& output) {
  const std::string& collector = options.collector.address;
  if (collector.empty()) say(one_line(absl::StrCat("recording into ", output.run_file()), 4096));
  tell_outer(collector.empty() ? absl::StrCat("in ", output.run_file())
                               : absl::StrCat("by the collector at ", collector));
}

struct Ending {
  JobEnd end;
  std::vector<pid_t> left;  // processes of the job that go on
};

Ending record_until_end(const RunOptions& options, const RunDirectory& directory, SignalForwarding& signals,
                        Recording& recording) {
  ProgressLine line(recording, options.progress);
  CollectorWatch watch(recording.relay(), options.collector);
  const JobEnd end = signals.wait();
  recording.relay().job_ended(end.exit_status, end.signal);
  return {end, wait_for_others(recording.relay(), directory)};
}

// castscope holds these open during the run. They stay if somebody removes the run directory, and then tell which
// processes left records in it.
struct RunWitnesses {
  std::shared_ptr<relay::MadeDirectory> made;
  std::shared_ptr<relay::Roll> roll;  // null where the system gives no memory for it
};

RunWitnesses witnesses_of(const RunDirectory& directory) {
  return {.made = std::make_shared<relay::MadeDirectory>(directory.path()), .roll = relay::Roll::make()};
}

bool nothing_was_seen(const RunDirectory& directory, const RunWitnesses& witnesses, Recording& recording) {
  if (!directory.attached().empty() || directory.has_segments() || recording.relay().progress().processes > 0)
    return false;
  return witnesses.roll != nullptr ? !witnesses.roll->has_torch() : witnesses.made->is_there_now();
}

// Nobody should take an unobserved run for a job without casts. A castscope inside this one knows better why.
NothingSeen why_nothing_was_seen_by_this(const RunOptions& options, const RunDirectory& directory, const JobEnd& end) {
  for (const std::string& notice : directory.said())
    if (absl::StartsWith(notice, kInner)) return {.sentence = notice};
  return why_nothing_was_seen(options.command, end);
}

// Returns the sentences that belong into the run's report. Says those that the user has not seen yet.
std::vector<std::string> notices_at_end(const RunDirectory& directory, const std::string& why_nothing_was_seen,
                                        const std::vector<pid_t>& left, redaction::Redaction& redaction) {
  std::vector<std::string> notices = directory.said();
  const auto add = [&notices](const std::string& sentence) {
    if (std::ranges::find(notices, sentence) == notices.end()) notices.push_back(sentence);
    say(sentence);
  };
  if (!why_nothing_was_seen.empty()) add(why_nothing_was_seen);
  if (!left.empty()) add(about(left, redaction));
  return notices;
}

RecordingResult finish(const RunOptions& options, Recording& recording, const Ending& ending,
                       const std::vector<std::string>& notices) {
  const std::string& collector = options.collector.address;
  const auto late = say_when_late(absl::StrCat(
      "the job has ended; the ",
      collector.empty()
          ? "run file is being written"
          : absl::StrCat("collector at ", collector, " has not received everything yet: castscope waits for it, ",
                         kCollectorPatience)));
  return recording.finish(ending.end, notices, ending.left);
}

[[noreturn]] void leave_nothing(Recording& recording, const RunDirectory& directory, OutputClaim& claim,
                                const NothingSeen& nothing, const JobEnd& end) {
  recording.discard();
  directory.discard();
  claim.release();
  say(nothing.sentence);
  leave_as(end);
}

int run(const RunOptions& options) {
  guard_start(options.demands_policy() ? std::vector<std::string>() : options.command, kOwnFailure);
  if (const std::string lack = what_recording_lacks(); !lack.empty()) {
    SignalForwarding signals;
    return run_unobserved(signals, options, lack);
  }
  const std::string when = time_for_names(rank_in_names());
  OutputClaim claim;
  const absl::StatusOr<Output> output = place_of_output(options, when, claim);
  if (absl::IsAlreadyExists(output.status())) {
    say(std::string(output.status().message()));
    return kOwnFailure;
  }
  Preparation prepared =
      output.ok()
          ? prepare_job(options.command, say, {.lend = !options.enforce.empty(), .given_agents = options.given_agents})
          : Preparation();
  const std::string unobserved = sentence_of(options, prepared);
  if (!unobserved.empty()) {
    say(unobserved);
    if (options.demands_policy()) return kOwnFailure;
  }
  // From here on signals belong to the job: nothing below ends castscope before the job, which would leave files
  // behind.
  SignalForwarding signals;
  if (!output.ok()) return run_unobserved(signals, options, std::string(output.status().message()));
  absl::StatusOr<RunDirectory> directory = RunDirectory::create();
  if (!directory.ok()) return run_unobserved(signals, options, std::string(directory.status().message()));
  auto drop_directory = absl::MakeCleanup([&] { directory->discard_unless_segments(); });
  if (absl::Status status = add_variables(options, *directory, prepared); !status.ok()) {
    return run_unobserved(signals, options, std::string(status.message()));
  }
  if (!unobserved.empty()) directory->note(unobserved);  // for the report
  const RunWitnesses witnesses = witnesses_of(*directory);
  if (witnesses.roll != nullptr) prepared.variables.push_back(witnesses.roll->variable(directory->path()));
  const RunRecord record = record_of(options, *output);
  prepared.variables.push_back(absl::StrCat(kSecretVariable, "=", record.secret));
  const std::vector<std::string> environment = job_environment(std::move(prepared), *directory);
  LiveViewer viewer(options.live);
  if (absl::Status status = directory->write_record(record); !status.ok()) {
    // Whoever goes on with this run would not know what to redact.
    if (options.withholding.any()) return run_unobserved(signals, options, std::string(status.message()));
    say(std::string(status.message()));
  }
  SignalForwarding::StartError error;
  const pid_t job = signals.start(options.command, environment, error);
  if (job < 0) {
    directory->discard();
    return could_not_start(signals, options, error);
  }
  guard_sentence(absl::StrCat("castscope itself has failed; the job goes on: `castscope recover ", directory->path(),
                              "` makes the run file of what was seen of it until now"));
  viewer.start();
  // Only now: the job does not wait for gRPC and SQLite, and inherits nothing from them.
  RecordingOptions recorded{.directory = *directory,
                            .record = record,
                            .output = *output,
                            .deep = options.deep.empty() ? variable("CASTSCOPE_DEEP") : options.deep,
                            .gpu = options.gpu.empty() ? variable("CASTSCOPE_GPU") : options.gpu,
                            .at_start = true,
                            .overwrite = options.force,
                            .answers = true,
                            .resume = false,
                            .made = witnesses.made,
                            .roll = witnesses.roll,
                            .say = say,
                            .child = job,
                            .collector = options.collector,
                            .settings = options.settings,
                            .viewed = viewer.runs()};
  const auto recording = begin_recording(options, when, claim, recorded);
  if (!recording.ok()) go_on_unrecorded(signals, *directory, claim, recording.status());
  say_where_recorded(options, recorded.output);
  const Ending ending = record_until_end(options, *directory, signals, **recording);
  NothingSeen nothing;
  if (nothing_was_seen(*directory, witnesses, **recording))
    nothing = why_nothing_was_seen_by_this(options, *directory, ending.end);
  if (!unobserved.empty() && !nothing.never_began) nothing.sentence = "";  // it was said before the job
  if (options.armed && !nothing.never_began)
    if (std::string why = why_unwatched(*directory, (*recording)->was_asked_to_attach()); !why.empty())
      nothing.sentence = std::move(why);
  if (nothing.never_began && ending.left.empty()) leave_nothing(**recording, *directory, claim, nothing, ending.end);
  const std::vector<std::string> notices =
      notices_at_end(*directory, nothing.sentence, ending.left, (*recording)->redaction());
  const RecordingResult result = finish(options, **recording, ending, notices);
  std::move(drop_directory).Cancel();
  report_end(options, *directory, result);
  viewer.stop(result.output.run_file());
  claim.release();
  leave_as(ending.end);
}

std::string footer() {
  return absl::StrCat(
      "Examples:\n"
      "  castscope run -- python train.py --epochs 3\n"
      "  castscope run -o runs/baseline -- torchrun --nproc-per-node 2 train.py\n"
      "  castscope run --keep all -o deep -- python -m project.train\n"
      "  castscope run --live -- python train.py\n"
      "  castscope run --enforce torch-cpu -- python train.py\n"
      "  castscope run --enforce mine.json --enforce-if-possible -- python train.py   # rather without than not at "
      "all\n"
      "  castscope run --apex -- python train.py   # from apex import amp\n"
      "  castscope run --no-source --redact '/home/[^/]+' --redact 'acme-[a-z]+' -- python train.py\n\n"
      "The standard streams are the command's own, and signals are passed on to it; castscope writes its messages "
      "to stderr. When the command has ended, castscope waits for the collector, ",
      std::string(kCollectorPatience), ".\n\n", exit_statuses_of("run"));
}

}  // namespace

void add_run(CommandLine& line) {
  const Command command = line.subcommand("run", "Run a command and record every cast in it");
  auto options = std::make_shared<RunOptions>();
  add_run_options(command, *options);
  command.takes_other_words();
  command.takes_job("-- COMMAND [ARGUMENT...]");
  command.footer(footer());
  command.on_run([&line, options, command] {
    speak_beside_job();
    options->command = command.remaining();
    options->command.insert(options->command.end(), line.job.begin(), line.job.end());
    if (const std::string problem = problem_of(*options, command.count("--output") > 0); !problem.empty())
      return say(problem), kOwnFailure;
    if (options->apex && options->enforce.empty()) options->enforce = kApexPolicy;
    options->armed |= options->enforce.empty() && is_armed_by_environment();
    if (!read_settings_of(*options)) return kOwnFailure;
    if (const absl::Status status = complete(options->collector); !status.ok() && !options->collector.address.empty()) {
      say(std::string(status.message()));
      return kOwnFailure;
    }
    if (const absl::Status status = complete(options->withholding); !status.ok()) {
      say(absl::StrCat(status.message(), "; the job is not started"));
      return kOwnFailure;
    }
    unsetenv("CASTSCOPE_TOKEN");  // it is castscope's, and not the job's and its children's
    return run(*options);
  });
}

}  // namespace castscope::cli
