// castscope relay: records a run that the preload library began.
#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/late_recording.h"
#include "server/cli/job/armed_job.h"
#include "server/cli/job/job_environment.h"
#include "server/cli/job/proc.h"
#include "server/cli/job/ranks.h"

namespace castscope::cli {
namespace {

// Nobody reads a relay's messages: a run that its collector did not take is recorded where a run without a collector
// would be.
RecordingResult record_here(RecordingOptions options, const RecordingResult& before) {
  const RunDirectory& directory = options.directory;
  std::vector<std::string> notices = directory.said();
  const bool has_a_part = before.relay.let_in;
  notices.push_back(absl::StrCat("the collector at ", options.collector.address, " did not take this run (",
                                 before.problem, "): ", has_a_part ? "what the collector has not acknowledged" : "it",
                                 " is recorded here"));
  if (has_a_part) options.sent_elsewhere = sent_to(options.collector.address);
  options.collector = {};
  options.record.collector.clear();
  options.record.token_proof.clear();
  options.at_start = false;
  options.expected = directory.attached();
  auto recording = Recording::begin(options);
  if (!recording.ok()) return {};
  wait_for_last_process(**recording, directory);
  return (*recording)->finish(std::nullopt, notices);
}

// The job's environment is the relay's, too.
std::vector<std::string> notices_of(const RunDirectory& directory, const Recording& recording) {
  std::vector<std::string> notices = directory.said();
  if (!is_armed_by_environment()) return notices;
  if (std::string why = why_unwatched(directory, recording.was_asked_to_attach()); !why.empty())
    notices.push_back(std::move(why));
  return notices;
}

int relay_until_end(const std::string& path, CollectorAddress collector) {
  speak_beside_job();
  RunDirectory directory(path);
  if (!directory.check().ok()) return kIncompleteData;
  collector.token = variable("CASTSCOPE_TOKEN");
  unsetenv("CASTSCOPE_TOKEN");
  if (!complete(collector).ok()) collector.token.clear();  // the collector says what it misses
  RunRecord record = describe(directory);
  record.job = batch_job();
  record.secret = variable(kSecretVariable);  // the first process of the job made it
  record.collector = collector.address;
  record.token_proof = token_proof_of(collector);
  const std::string when = time_for_names(rank_in_names());
  const std::vector<std::string> command = redaction_of(record.redact)->command(record.command);
  OutputClaim claim;
  auto output = choose_output(named_for_rank(variable("CASTSCOPE_OUT"), rank_in_names()), command, when, false, claim);
  if (!output.ok() && absl::IsAlreadyExists(output.status())) {
    output = choose_output("", command, when, false, claim);
  }
  if (!output.ok() || !check_writable(*output).ok()) output = fallback_output(command, when, claim);
  record.stem = output->stem;
  (void)directory.write_record(record);
  RecordingOptions options{.directory = directory,
                           .record = record,
                           .output = *output,
                           .deep = variable("CASTSCOPE_DEEP"),
                           .gpu = variable("CASTSCOPE_GPU"),
                           .at_start = true,
                           .overwrite = false,
                           .answers = true,
                           .resume = false,
                           .main_process = first_attached(directory),
                           .roll = relay::Roll::of_bare_run(path),
                           .collector = collector,
                           .settings = settings_of_job(record)};
  auto recording = Recording::begin(options);
  RecordingResult result;
  if (recording.ok()) {
    wait_for_last_process(**recording, directory);
    result = (*recording)->finish(std::nullopt, notices_of(directory, **recording));
  } else {
    result.problem = std::string(recording.status().message());
  }
  if (!result.relay.spool.empty() && result.relay.reached) {  // `castscope recover` sends the rest of it
    if (!directory.has_living_process()) directory.discard();
    return 0;
  }
  if (!result.relay.spool.empty()) unlink(result.relay.spool.c_str());  // all of it is still in the segments
  if (!result.relay.delivered && !collector.address.empty()) result = record_here(options, result);
  if (!result.relay.delivered) return kIncompleteData;  // the segments stay for `castscope recover`
  directory.discard_unless_segments();
  return 0;
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

}  // namespace castscope::cli
