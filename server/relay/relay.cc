#include "server/relay/relay.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/protocol.h"
#include "proto/quiet.h"
#include "server/redaction/messages.h"
#include "server/relay/audience.h"
#include "server/relay/drainer.h"
#include "server/relay/sending/outbox.h"
#include "server/relay/sending/uplink.h"
#include "server/utf8/utf8.h"

namespace castscope::relay {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kShortestNap{1}, kPatienceForGoodbye{500};
// The relay reads what the job has left from memory, which takes milliseconds, and longer on a machine with far too
// much to do. After this time it gives up: what it has not sent stays in the run directory, for `castscope recover`.
constexpr std::chrono::seconds kPatienceForLastLook{120};
// The command line only helps people to recognise the run.
constexpr std::size_t kMostCommandBytes = 64u << 10;

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? utf8::repaired(name) : "unknown";
}

}  // namespace

std::string fresh_relay_id() {
  std::random_device random;
  return absl::StrCat(absl::Hex(random(), absl::kZeroPad8), absl::Hex(random(), absl::kZeroPad8));
}

namespace {

v1::MissingReason wire_reason(Missing::Kind kind) {
  switch (kind) {
    case Missing::Kind::kRunDirectory:
      return v1::MISSING_REASON_RUN_DIRECTORY_LOST;
    case Missing::Kind::kProcess:
      return v1::MISSING_REASON_PROCESS_MISSING;
    case Missing::Kind::kUnrecorded:
      break;
  }
  return v1::MISSING_REASON_PROCESS_UNRECORDED;
}

std::string host_of(const Options& options) {
  return options.run.host.empty() ? host_name() : utf8::repaired(options.run.host);
}

v1::Hello make_hello(const Options& options) {
  v1::Hello hello;
  hello.set_lowest_protocol(wire::kOldestProtocol);
  hello.set_highest_protocol(wire::kProtocol);
  hello.set_castscope_version(utf8::repaired(options.run.castscope_version));
  hello.set_token(utf8::repaired(options.token));
  hello.set_run_id(utf8::repaired(options.run.id));
  hello.set_relay(options.relay.empty() ? fresh_relay_id() : options.relay);
  hello.set_host(host_of(options));
  hello.set_run_file_name(utf8::repaired(options.run.name));
  hello.set_cwd(utf8::repaired(options.run.cwd));
  hello.set_checkout(utf8::repaired(options.run.checkout));
  hello.set_run_key(options.run.key);
  hello.set_start_epoch_ns(options.run.begin_realtime_ns);
  hello.set_no_source(options.run.no_source);
  std::size_t bytes = 0;
  for (const std::string& word : options.run.command) {
    bytes += word.size();
    hello.add_command(bytes > kMostCommandBytes ? "…" : utf8::repaired(word));
    if (bytes > kMostCommandBytes) break;
  }
  if (options.redaction != nullptr) redaction::redact(*options.redaction, hello);
  return hello;
}

// What keys of processes begin with. Two machines may have the same name when it was redacted.
std::string key_of(const v1::Hello& hello, const Options& options) {
  return hello.host() == host_of(options) ? hello.host() : absl::StrCat(hello.host(), "-", hello.relay());
}

}  // namespace

class Relay::Impl {
 public:
  explicit Impl(Options options)
      : options_(std::move(options)),
        outbox_(options_.max_unacknowledged_bytes),
        hello_(make_hello(options_)),
        uplink_(options_.channel, hello_, &outbox_, options_.goes_on, options_.read_token,
                options_.patience_for_silence),
        drainer_(options_, hello_.host(), key_of(hello_, options_), &outbox_) {}
  ~Impl() { end_threads(); }

  absl::Status start();
  void job_ended(int exit_status, int signal) { drainer_.job_ended(signal != 0 ? 128 + signal : exit_status, signal); }
  bool quiet() const;
  bool wait_until_quiet(milliseconds at_most);
  Summary stop(const Farewell& farewell, milliseconds at_most);
  Progress progress() const;
  std::string trouble() const { return uplink_.trouble(); }

 private:
  void run();
  // Looks at everything once; returns how long to wait for the next look.
  milliseconds look(Clock::time_point now, milliseconds last_nap);
  bool nap_or_stop(milliseconds time);
  bool make_room(Clock::time_point now);
  // Returns whether all was read, and stands in the outbox with the goodbye.
  bool look_for_the_last_time(const Farewell& farewell);
  void look_after_held_events(Clock::time_point now);
  absl::Status spool();
  void spool_at_end(Summary& summary);
  void say_goodbye();
  void end_threads();

  const Options options_;
  Outbox outbox_;
  const v1::Hello hello_;
  Uplink uplink_;
  Drainer drainer_;    // only the drain thread uses it while that runs
  Audience audience_;  // the drain thread's too
  Clock::time_point next_flush_{}, next_spool_{};
  bool said_that_it_spools_ = false, said_that_it_cannot_spool_ = false;
  std::optional<Clock::time_point> events_held_since_;
  bool said_that_events_are_held_ = false;
  std::thread thread_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;         // drain for the last time
  bool drained_ = false;          // the last drain is done
  bool nothing_to_send_ = false;  // except a goodbye in which nothing is missing
  bool ended_ = false;            // no longer wait for acknowledgements
  bool quiet_ = false;
  std::optional<Farewell> farewell_;
  std::vector<Missing> missing_;  // known when drained_ is set
  Progress progress_;
};

std::optional<KnownEnd> end_of(std::int64_t pid, const std::vector<ProcessSummary>& processes) {
  for (const ProcessSummary& process : processes) {
    if (process.pid != pid || pid == 0) continue;
    if (process.end == ProcessEnd::kExited && process.exit_status >= 0)
      return KnownEnd{.exit_status = process.exit_status};
    if (process.end == ProcessEnd::kVanished && process.exit_status > 128)
      return KnownEnd{.signal = process.exit_status - 128};
  }
  return std::nullopt;
}

absl::Status Relay::Impl::start() {
  wire::quiet_libraries();
  DIR* directory = opendir(options_.run_directory.c_str());
  if (directory == nullptr && errno != ENOENT)
    return absl::NotFoundError(
        absl::StrCat("cannot read the run directory ", options_.run_directory, ": ", std::strerror(errno)));
  if (directory != nullptr) closedir(directory);
  uplink_.start();
  thread_ = std::thread([this] { run(); });
  return absl::OkStatus();
}

void Relay::Impl::run() {
  next_flush_ = Clock::now() + options_.flush_interval;
  for (milliseconds nap{0}; !nap_or_stop(nap);) nap = look(Clock::now(), nap);

  // From here on stop() waits: for the present contents, the ends, the farewell, and then for their acknowledgement.
  drainer_.find_segments(Clock::now());
  drainer_.handle_answers();
  drainer_.tell_remaining_ends(!uplink_.refused());
  say_goodbye();
  for (bool ended = false; !ended;) {
    drainer_.handle_answers();
    std::unique_lock lock(mutex_);
    ended = changed_.wait_for(lock, kShortestNap, [this] { return ended_; });
  }
  drainer_.handle_answers();
}

bool Relay::Impl::nap_or_stop(milliseconds time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return stopping_; });
}

milliseconds Relay::Impl::look(Clock::time_point now, milliseconds last_nap) {
  drainer_.find_segments(now);
  drainer_.handle_answers();
  audience_.hear(outbox_.take_watched(), now);
  const bool watched = audience_.is_there(now);
  drainer_.wait_for_company(watched ? options_.watched_event_interval : options_.event_interval);
  uplink_.look(now);
  look_after_held_events(now);
  const bool refused = uplink_.refused();
  SegmentSource::Drained drained;
  // With a full outbox for which the disk has no room either, or a collector that refuses, nothing is taken: the rings
  // fill, and the process drops and counts.
  if (!refused && (!outbox_.full() || make_room(now))) {
    drained = drainer_.drain(now, !outbox_.holds_events());
    const bool due = now >= next_flush_ || outbox_.bytes() > options_.max_unacknowledged_bytes / 2;
    if (due || drained.batch_full || watched) drainer_.flush(due, now);
    if (due) next_flush_ = now + options_.flush_interval;
  }
  const bool quiet = drainer_.tell_ends(now, !refused);
  const std::lock_guard lock(mutex_);
  progress_ = drainer_.progress();
  if (std::exchange(quiet_, quiet) != quiet) changed_.notify_all();
  if (drained.batch_full) return milliseconds(0);  // there may be more than the batch had room for
  return drained.busy ? kShortestNap : std::clamp(last_nap * 2, kShortestNap, options_.longest_nap);
}

// A quota that is used up is over soon, as a rule. Without this nobody but the collector would know of one that is not.
void Relay::Impl::look_after_held_events(Clock::time_point now) {
  if (!outbox_.holds_events()) return events_held_since_.reset();
  if (!events_held_since_) events_held_since_ = now;
  if (said_that_events_are_held_ || now - *events_held_since_ < options_.patience_for_silence) return;
  said_that_events_are_held_ = true;
  if (options_.say)
    options_.say(
        "the collector takes counts alone now: single events that find no room in memory are dropped, and counted");
}

// The collector is away, or slow: what it has not acknowledged goes to disk. A disk that is full may have room again.
bool Relay::Impl::make_room(Clock::time_point now) {
  if (!options_.make_spool || !uplink_.knows_numbers() || now < next_spool_) return false;
  const absl::Status status = outbox_.spools() ? outbox_.keep_rest() : spool();
  if (!status.ok()) next_spool_ = now + options_.spool_interval;
  bool& said = status.ok() ? said_that_it_spools_ : said_that_it_cannot_spool_;
  if (options_.say && !std::exchange(said, true))
    options_.say(status.ok() ? "the collector does not take what the job sends: it is kept on disk until then"
                             : absl::StrCat("what the collector does not take finds no room on disk (",
                                            status.message(), "): single events are dropped, and counted"));
  return status.ok();
}

absl::Status Relay::Impl::spool() {
  absl::StatusOr<std::unique_ptr<Spool>> spool = options_.make_spool(hello_);
  if (!spool.ok()) return spool.status();
  for (const Outbox::Message& message : drainer_.introductions())
    if (absl::Status status = (*spool)->add_introduction(*message); !status.ok())
      return (void)(*spool)->remove(), status;
  return outbox_.keep_in(*std::move(spool));
}

// Nobody else uses the outbox or the drainer any more.
void Relay::Impl::spool_at_end(Summary& summary) {
  // With other numbers than the collector's it would be taken for messages that it has: then the segments stay.
  if (!options_.make_spool || uplink_.refused() || nothing_to_send_ || !uplink_.knows_numbers()) return;
  absl::Status status = outbox_.spools() ? absl::OkStatus() : spool();
  absl::StatusOr<std::string> path = status.ok() ? outbox_.sync() : status;
  if (path.ok())
    summary.spool = *path;
  else
    absl::StrAppend(&summary.problem, "; and ", path.status().message());
}

void Relay::Impl::say_goodbye() {
  std::vector<Missing> missing = drainer_.missing();
  const std::lock_guard lock(mutex_);
  missing_ = std::move(missing);
  if (farewell_.has_value())
    for (const std::string& sentence : farewell_->unrecorded)
      if (std::ranges::none_of(missing_, [&](const Missing& one) { return one.sentence == sentence; }))
        missing_.push_back({.kind = Missing::Kind::kUnrecorded, .process = "", .sentence = sentence});
  if (farewell_.has_value() && farewell_->exit_status < 0 && farewell_->signal == 0)
    if (const auto known = end_of(farewell_->ends_with, drainer_.summaries()))
      farewell_->exit_status = known->exit_status, farewell_->signal = known->signal;
  if (farewell_.has_value() && !uplink_.refused()) {
    auto message = std::make_unique<v1::RelayMessage>();
    v1::Goodbye& goodbye = *message->mutable_goodbye();
    goodbye.set_exit_code(farewell_->exit_status);
    goodbye.set_signal(farewell_->signal);
    goodbye.set_still_running(farewell_->still_running);
    goodbye.set_expected_ranks(farewell_->expected_ranks);
    goodbye.set_seen_ranks(farewell_->seen_ranks);
    for (const std::string& notice : farewell_->notices) goodbye.add_notices(utf8::repaired(notice));
    for (const Missing& one : missing_) {
      v1::Missing& told = *goodbye.add_missing();
      told.set_incomplete_reason(wire_reason(one.kind));
      told.set_process_key(utf8::repaired(one.process));
      told.set_sentence(utf8::repaired(one.sentence));
    }
    if (options_.redaction != nullptr) redaction::redact(*options_.redaction, goodbye);
    outbox_.push(std::move(message), {});
  }
  nothing_to_send_ = drainer_.progress().processes == 0 && missing_.empty();
  drained_ = true;
  changed_.notify_all();
}

bool Relay::Impl::quiet() const {
  const std::lock_guard lock(mutex_);
  return quiet_;
}

bool Relay::Impl::wait_until_quiet(milliseconds at_most) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, at_most, [this] { return quiet_; });
}

Progress Relay::Impl::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

void Relay::Impl::end_threads() {
  uplink_.stop();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = ended_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

bool Relay::Impl::look_for_the_last_time(const Farewell& farewell) {
  std::unique_lock lock(mutex_);
  farewell_ = farewell;
  stopping_ = true;
  changed_.notify_all();
  return changed_.wait_for(lock, kPatienceForLastLook, [this] { return drained_; });
}

Summary Relay::Impl::stop(const Farewell& farewell, milliseconds at_most) {
  const bool drained = look_for_the_last_time(farewell);
  Summary summary;
  const Clock::time_point begin = Clock::now(), deadline = begin + at_most;
  Clock::time_point last_answer = begin;
  std::uint64_t left = outbox_.bytes();
  const auto in_vain = [&] {
    if (std::exchange(left, outbox_.bytes()) != left) last_answer = Clock::now();
    if (uplink_.ever_connected() && uplink_.trouble().empty())
      return Clock::now() - last_answer > options_.patience_for_next_answer;
    if (uplink_.ever_connected()) return Clock::now() - last_answer > options_.patience_in_trouble;
    // For a goodbye alone, castscope does not wait long for a collector that never answered.
    return Clock::now() - begin > (nothing_to_send_ ? kPatienceForGoodbye : options_.patience_for_first_answer);
  };
  while (drained && !summary.delivered && !uplink_.shut_out() && !in_vain() && Clock::now() < deadline)
    summary.delivered = outbox_.wait_until_empty(std::min(deadline, Clock::now() + milliseconds(20)));
  const bool in_time = Clock::now() < deadline;
  if (!drained) {
    summary.problem = absl::StrCat("what the job has left could not be read within ", kPatienceForLastLook.count(),
                                   " s: this machine has too much to do");
  } else if (!summary.delivered) {
    summary.problem = uplink_.trouble();
    if (summary.problem.empty())
      summary.problem =
          !uplink_.ever_connected() ? "no connection to the collector has come about yet"
          : in_time                 ? absl::StrCat("the collector did not acknowledge everything: nothing more for ",
                                                   options_.patience_for_next_answer.count(), " ms")
                    : absl::StrCat("the collector did not acknowledge everything within ", at_most.count(), " ms");
  }
  summary.reached = uplink_.ever_connected(), summary.let_in = uplink_.ever_stood();
  end_threads();
  if (drained && !summary.delivered) spool_at_end(summary);
  if (const auto rest = outbox_.rest_of_spool(); !rest.ok() && options_.say)
    options_.say(absl::StrCat(rest.status().message(), "; the collector has what was in it"));
  summary.processes = drainer_.summaries();
  summary.missing = missing_;
  return summary;
}

Relay::Relay(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Relay::~Relay() = default;
absl::Status Relay::start() { return impl_->start(); }
void Relay::job_ended(int exit_status, int signal) { impl_->job_ended(exit_status, signal); }
bool Relay::quiet() const { return impl_->quiet(); }
bool Relay::wait_until_quiet(milliseconds at_most) { return impl_->wait_until_quiet(at_most); }
Summary Relay::stop(const Farewell& farewell, milliseconds deadline) { return impl_->stop(farewell, deadline); }
Progress Relay::progress() const { return impl_->progress(); }
std::string Relay::trouble() const { return impl_->trouble(); }

}  // namespace castscope::relay
