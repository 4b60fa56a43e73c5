#include "server/cli/recording/recording.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/cli/job/git_state.h"
#include "server/cli/job/known_of_run.h"
#include "server/cli/job/proc.h"
#include "server/cli/job/ranks.h"
#include "server/cli/recording/conclusion.h"
#include "server/cli/recording/spool_folder.h"
#include "server/cli/version.h"
#include "server/policy/compiled.h"
#include "server/relay/sending/tls_probe.h"

namespace castscope::cli {
namespace {

using std::chrono::seconds;

// The rest of the job's data is in memory, or nearly so; only a remote collector may need this time.
constexpr seconds kLocalDeadline{120}, kRemoteDeadline{10}, kFirstAnswer{2}, kNextAnswer{5};

bool all_ended(const relay::Summary& summary) {
  return std::all_of(summary.processes.begin(), summary.processes.end(), [](const relay::ProcessSummary& process) {
    return process.end == relay::ProcessEnd::kExited || process.end == relay::ProcessEnd::kReplaced;
  });
}

// If a run's record was lost with its recorder, the run must not look as if nothing had happened in it.
std::string what_is_missing(const std::vector<pid_t>& expected, const relay::Summary& summary) {
  std::vector<pid_t> missing;
  for (pid_t pid : expected) {
    const bool found = std::any_of(summary.processes.begin(), summary.processes.end(),
                                   [&](const relay::ProcessSummary& process) { return process.pid == pid; });
    if (!found) missing.push_back(pid);
  }
  if (summary.processes.empty()) return "nothing that the recorder of this run had seen is left to recover";
  if (missing.empty()) return "";
  return absl::StrCat("of ", missing.size() == 1 ? "process " : "the processes ", absl::StrJoin(missing, ", "),
                      " nothing is left to recover: any casts of theirs are missing from this run");
}

void add_new(const std::vector<std::string>& sentences, std::vector<std::string>& all) {
  for (const std::string& sentence : sentences)
    if (std::ranges::find(all, sentence) == all.end()) all.push_back(sentence);
}

std::vector<std::string> unrecorded(const RecordingOptions& options) {
  std::vector<std::string> all = options.directory.unrecorded();
  if (options.roll != nullptr) add_new(those_of_unrecorded(options.roll->sentences()), all);
  return all;
}

std::string first_problem(const relay::Summary& summary) {
  if (!summary.problem.empty()) return summary.problem;
  for (const auto& process : summary.processes) {
    if (!process.problem.empty()) return process.problem;
  }
  return "";
}

}  // namespace

std::int64_t realtime_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

Recording::Recording(RecordingOptions options)
    : options_(std::move(options)),
      redaction_(redaction_of(options_.record.redact, options_.record.no_source)),
      missing_before_(kept_missing(options_.directory)) {
  // The report tells these, too.
  rules::Settings& settings = options_.settings;
  settings.file = redaction_->text(settings.file);
  for (rules::Settings::PathIgnore& one : settings.per_path) one.path = redaction_->text(one.path);
}

absl::StatusOr<std::unique_ptr<Recording>> Recording::begin(RecordingOptions options) {
  std::unique_ptr<Recording> recording(new Recording(std::move(options)));
  absl::Status status;
  if (recording->options_.collector.address.empty()) status = recording->open_store();
  if (status.ok()) status = recording->start_relay();
  if (!status.ok()) return status;
  recording->watch_findings();
  recording->listen_for_requests();
  return recording;
}

store::RunStart Recording::start_of_run(const std::string& checkout) const {
  const RunRecord& record = options_.record;
  const auto text = [this](const std::string& text) { return redaction_->text(text); };
  store::RunStart start{.run_id = options_.directory.id(),
                        .command = redaction_->command(record.command),
                        .cwd = text(record.cwd),
                        .host = text(host_name()),
                        .castscope_version = kVersion,
                        .start_ns = record.begin_realtime_ns,
                        .policy = options_.settings.policy ? policy::compiled(*options_.settings.policy) : "",
                        .deep = options_.deep,
                        .gpu = options_.gpu,
                        .checkout = text(checkout)};
  if (text(start.policy) != start.policy) start.policy.clear();  // it is no text of which a part could be missing
  if (options_.at_start) {
    const GitFacts git = git_facts(checkout);
    start.git = {.commit = text(git.commit), .branch = text(git.branch), .origin = text(git.origin), .dirty = {}};
  }
  start.source_withheld = record.no_source ? "all" : record.redact.empty() ? "" : "files";
  return start;
}

absl::Status Recording::open_store() {
  const RunRecord& record = options_.record;
  store::StoreOptions store_options{.keep_all = record.keep_all};
  store_options.overwrite = options_.overwrite;
  const std::string checkout = checkout_of(record.cwd);
  const store::RunStart start = start_of_run(checkout);
  std::string path = options_.output.run_file();
  std::error_code error;
  // The report of an earlier run of this name would be taken for this one's until the new one is written, and for good
  // if castscope is killed before that.
  if (options_.overwrite || options_.resume) forget_report(options_.output);
  auto store = options_.resume && std::filesystem::exists(path, error)
                   ? store::RunStore::resume(path, store_options)
                   : store::RunStore::create(path, start, store_options);
  if (!store.ok()) return store.status();
  store_ = *std::move(store);
  if (!start.git.commit.empty())
    dirty_ = std::make_unique<GitDirty>(checkout, [store = store_](bool dirty) { (void)store->git_dirty(dirty); });
  judge_ = std::make_shared<judging::RunJudge>(
      store_, options_.settings, judging::Lines::kFromDisk,
      [redaction = redaction_](std::string_view line) { return redaction->source(line); });
  if (options_.viewed != nullptr) {
    shown_ =
        web::LiveRun::begin(options_.viewed->free_id(path), judge_, start, options_.resume, {.sources_here = true});
    options_.viewed->put(shown_);
  }
  ingest::RunKeeper keeper;
  const auto failed = std::make_shared<bool>(false);  // calls for one run never overlap
  keeper.give_up = [failed](const std::string&, const absl::Status&) { *failed = true; };
  keeper.open = [this, failed](const ingest::RunOpening&) -> absl::StatusOr<std::shared_ptr<store::RunSink>> {
    if (*failed)
      if (absl::Status status = store_->reopen(); !status.ok()) return status;
    *failed = false;
    if (shown_ != nullptr) return shown_;
    return store_;
  };
  keeper.watched = [this](const std::string&) {
    return shown_ != nullptr && shown_->watched(std::chrono::steady_clock::now());
  };
  keeper.close = [](const std::string&, const ingest::RunClosing&) {};  // finish() closes the store
  auto server = ingest::Server::start({.version = kVersion}, keeper);
  if (!server.ok()) return server.status();
  server_ = *std::move(server);
  return absl::OkStatus();
}

absl::Status Recording::start_relay() {
  const RunRecord& record = options_.record;
  relay::Options relay_options;
  relay_options.run_directory = options_.directory.path();
  relay_options.run = {.id = options_.directory.id(),
                       .name = std::filesystem::path(options_.output.stem).filename().string(),
                       .command = record.command,
                       .cwd = record.cwd,
                       .host = host_name(),
                       .begin_realtime_ns = record.begin_realtime_ns,
                       .castscope_version = kVersion,
                       .checkout = checkout_of(record.cwd),
                       .key = record.key,
                       .no_source = record.no_source || !record.redact.empty()};
  relay_options.redaction = redaction_;
  if (options_.child != 0) {
    relay_options.job_pid = options_.child;
    relay_options.job_start_ticks = start_ticks(options_.child);
  }
  relay_options.made = options_.made;
  relay_options.roll = options_.roll;
  relay_options.secret = record.secret;
  relay_options.say = options_.say;
  relay_options.keep_missing = [this](const std::vector<std::string>& sentences) { keep_missing(sentences); };
  relay_options.token = options_.collector.token;
  if (!options_.collector.token_file.empty())
    relay_options.read_token = [file = options_.collector.token_file] { return read_token_file(file).value_or(""); };
  if (server_ != nullptr) {
    relay_options.channel = server_->in_process_channel();
  } else {
    auto channel = relay::connect(options_.collector.address, options_.collector.tls);
    if (!channel.ok()) return channel.status();
    relay_options.channel = *std::move(channel);
    relay_options.patience_for_first_answer = kFirstAnswer;
    relay_options.patience_for_next_answer = kNextAnswer;
    relay_options.relay = record.relay;
    relay_options.goes_on = options_.relay_goes_on;
    if (const std::string ignored = ignored_spool_bytes(); !ignored.empty() && options_.say) options_.say(ignored);
    if (!spool_folder().empty())
      relay_options.make_spool = [collector = options_.collector, say = options_.say](const v1::Hello& hello) {
        return make_spool(destination_of(collector), hello, say);
      };
  }
  relay_ = std::make_unique<relay::Relay>(std::move(relay_options));
  return relay_->start();
}

// Where it cannot be, as on a full /dev/shm, the run is recorded all the same; who asks is told that nobody answers.
void Recording::listen_for_requests() {
  if (!options_.answers) return;
  if (auto control = ControlServer::start(options_.directory.path()); control.ok()) control_ = *std::move(control);
}

void Recording::watch_findings() {
  if (judge_ != nullptr) live_ = std::make_unique<LiveFindings>(judge_);
}

std::vector<store::Finding> Recording::new_findings() {
  return live_ != nullptr ? live_->take_new() : std::vector<store::Finding>();
}

Recording::~Recording() {
  live_.reset();
  relay_.reset();  // before the server that it is connected to
  if (server_ != nullptr) server_->shutdown(seconds(1));
}

// Called from the relay's thread, or after its end.
void Recording::keep_missing(const std::vector<std::string>& sentences) {
  std::vector<std::string> all = missing_before_;
  add_new(sentences, all);
  const absl::Status status = cli::keep_missing(options_.directory, all);
  if (!status.ok() && options_.say && !std::exchange(said_that_it_keeps_nothing_, true))
    options_.say(absl::StrCat(status.message(), "; `castscope recover` would not know what is missing from this run"));
}

// What is left of the run may be all that `castscope recover` has.
void Recording::keep_what_is_known(const std::optional<JobEnd>& end, const relay::Summary& summary) {
  if (summary.delivered) return;
  if (end) (void)keep_end(options_.directory, *end);
  std::vector<std::string> sentences;
  for (const relay::Missing& one : summary.missing) sentences.push_back(one.sentence);
  if (!sentences.empty()) keep_missing(sentences);
}

RecordingResult Recording::finish(std::optional<JobEnd> end, std::vector<std::string> notices,
                                  const std::vector<pid_t>& left) {
  control_.reset();
  live_.reset();
  dirty_.reset();
  RecordingResult result;
  result.output = options_.output;
  if (hides_everything(options_.record.redact)) notices.emplace_back(redaction::kEverythingIsHidden);
  relay::Farewell farewell;
  if (!end) end = kept_end(options_.directory);
  if (end) {
    (void)keep_end(options_.directory, *end);
    farewell.exit_status = end->exit_status;
    farewell.signal = end->signal;
  }
  farewell.ends_with = end ? 0 : options_.main_process;
  farewell.notices = notices;
  farewell.still_running = static_cast<std::uint32_t>(left.size());
  farewell.unrecorded = unrecorded(options_);
  add_new(missing_before_, farewell.unrecorded);
  const Ranks ranks = ranks_in(options_.directory.path());
  farewell.expected_ranks = ranks.expected, farewell.seen_ranks = ranks.seen;
  result.relay = relay_->stop(farewell, server_ != nullptr ? kLocalDeadline : kRemoteDeadline);
  relay_.reset();
  if (!end)
    if (const auto known = relay::end_of(options_.main_process, result.relay.processes))
      end = JobEnd{known->exit_status, known->signal};
  keep_what_is_known(end, result.relay);
  result.complete = result.relay.delivered && all_ended(result.relay) && left.empty() && result.relay.missing.empty();
  if (options_.expected) {
    result.missing = what_is_missing(*options_.expected, result.relay);
    if (!result.missing.empty()) notices.push_back(result.missing), result.complete = false;
  }
  if (!options_.sent_elsewhere.empty()) notices.push_back(options_.sent_elsewhere), result.complete = false;
  result.relay.problem =
      relay::why_tls_failed(options_.collector.address, options_.collector.tls, result.relay.problem);
  result.problem = first_problem(result.relay);
  for (const relay::ProcessSummary& process : result.relay.processes)  // the collector knows nothing of these
    if (process.pid == 0 && !process.problem.empty()) notices.push_back(process.problem);
  for (std::string& notice : notices) notice = redaction_->text(notice);
  if (server_ == nullptr) return result;
  server_->shutdown(seconds(5));
  server_.reset();
  close_store(end, notices, result);
  return result;
}

void Recording::discard() {
  control_.reset();
  live_.reset();
  dirty_.reset();
  relay_.reset();
  if (server_ == nullptr) return;
  server_->shutdown(seconds(5));
  server_.reset();
  if (shown_ != nullptr) shown_->concluded(web::RunState::kFinished, nullptr);
  (void)store_->close();  // after this there are no other files beside it
  std::error_code error;
  std::filesystem::remove(options_.output.run_file(), error);
}

void Recording::close_store(const std::optional<JobEnd>& end, const std::vector<std::string>& notices,
                            RecordingResult& result) {
  for (const std::string& sentence : notices) {
    if (absl::Status status = store_->notice(sentence); !status.ok()) result.problem = std::string(status.message());
  }
  store::RunEnd run_end{.end_ns = realtime_ns(), .exit_status = {}, .signal = {}, .complete = result.complete};
  run_end.unseen = redaction_->text(options_.sent_elsewhere);
  if (end && end->signal != 0) run_end.signal = end->signal;
  if (end && end->signal == 0) run_end.exit_status = end->exit_status;
  auto concluded = conclude(*store_, run_end, options_.output, judging::Lines::kFromDisk, options_.settings,
                            [this](std::string_view line) { return redaction_->source(line); });
  if (concluded.ok()) {
    result.run = concluded->run;
    result.output = concluded->output;
    if (result.problem.empty()) result.problem = concluded->moved;
    if (result.problem.empty()) result.problem = concluded->no_report;
  } else if (result.problem.empty()) {
    result.problem = std::string(concluded.status().message());
  }
  if (shown_ != nullptr) shown_->concluded(web::RunState::kFinished, result.run);
}

}  // namespace castscope::cli
