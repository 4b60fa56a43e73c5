#include "server/ingest/run/run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/ingest/run/ending.h"

namespace castscope::ingest {
namespace {

// A relay that never requests a flush still gets its batches committed. At most so much is lost with the collector, and
// is then sent again.
constexpr std::uint64_t kMostUncommittedBytes = 4u << 20;

// They stay in memory while the run goes on, and senders alone decide how many there are.
constexpr std::size_t kMostKeptRejections = 1000;  // of a relay: further ones are not told to it

}  // namespace

absl::Status Run::ensure_open() {
  if (sink_ != nullptr) return absl::OkStatus();
  absl::StatusOr<std::shared_ptr<store::RunSink>> sink = keeper_->open(opening_);
  if (!sink.ok()) return sink.status();  // the next message tries again
  sink_ = *std::move(sink);
  opened_ = true;
  news_ = false;
  if (!std::exchange(remembered_, true)) remember(sink_->earlier_life());
  return absl::OkStatus();
}

// The sink is in a state that nobody knows: what it committed is in the file, and the file tells how far that is with
// whom. Disks get room again, and other troubles pass, too.
absl::Status Run::give_up(const absl::Status& why) {
  sink_.reset();
  validator_ = RunValidator();
  for (auto& [id, relay] : relays_) {
    relay.applied = relay.durable = 0;
    relay.numbered = false;
    relay.said = {};
    relay.rejections.clear();
    relay.rejections_told = 0;
  }
  remembered_ = false;
  quota_told_.clear();
  given_up_ = true;
  ++life_;
  uncommitted_ = 0;
  if (keeper_->give_up) keeper_->give_up(opening_.id, why);
  return why;
}

absl::Status Run::still_current(const Relay& relay, const Stream& stream) const {
  if (relay.stream != stream.number) return absl::UnavailableError("the relay has begun another stream meanwhile");
  // Else what the relay has sent in this stream may have gone with the sink: what comes next does not follow on it.
  if (relay.life == life_) return absl::OkStatus();
  return absl::UnavailableError("the run was opened anew meanwhile: what was not acknowledged is to be sent again");
}

absl::Status Run::commit() {
  for (auto& [id, relay] : relays_) {
    if (relay.applied == relay.durable) continue;
    relay.said.relay = id;
    relay.said.acknowledged = relay.applied;
    if (absl::Status status = sink_->relay(relay.said); !status.ok()) return give_up(status);
  }
  if (absl::Status status = sink_->commit(); !status.ok()) return give_up(status);
  uncommitted_ = 0;
  for (auto& [id, relay] : relays_) relay.durable = relay.applied;
  return absl::OkStatus();
}

absl::Status Run::answer(Relay& relay, Reply* reply) {
  if (absl::Status status = tell_hold(relay, reply); !status.ok()) return status;
  reply->send = true;
  reply->watched = keeper_->watched && keeper_->watched(opening_.id);
  reply->durable = relay.durable;
  reply->said_goodbye = relay.done();
  reply->rejections.assign(relay.rejections.begin() + static_cast<std::ptrdiff_t>(relay.rejections_told),
                           relay.rejections.end());
  relay.rejections_told = relay.rejections.size();
  return absl::OkStatus();
}

// The file says why before a relay is told: what is dropped then has its sentence, whatever comes next, such as other
// quotas or the collector's end.
absl::Status Run::tell_hold(const Relay& relay, Reply* reply) {
  if (sink_ == nullptr || relay.done() || relay.said.relay.empty()) return absl::OkStatus();
  const EventsWanted wanted = events_wanted();
  if (wanted.how == EventsWanted::How::kAll) return absl::OkStatus();
  if (wanted.why != quota_told_) {
    absl::Status status = note_quota(wanted);
    if (status.ok()) status = commit();
    if (!status.ok()) return status;
    note_news();
  }
  reply->hold_events = true;
  return absl::OkStatus();
}

bool Run::all_done() const {
  return std::ranges::all_of(relays_, [](const auto& entry) { return entry.second.done(); });
}

void Run::tell_refused(const std::string& sentence) {
  if (sink_ == nullptr) return;
  if (note_missing(sentence).ok()) (void)commit();  // the next message receives the error
}

void Run::close_if_over(Clock::time_point now, Clock::duration patience) {
  const auto is_over = [&](const auto& entry) {
    const Relay& relay = entry.second;
    return relay.done() || (relay.streams == 0 && now - relay.left >= patience);
  };
  if (!std::all_of(relays_.begin(), relays_.end(), is_over)) return;
  if (given_up_ && !ensure_open().ok()) return;  // it is tried again at the next look
  if (sink_ == nullptr) return;
  if (uncommitted_ > 0 && !commit().ok()) return;
  close(false);
}

bool Run::is_due(const std::string& id, Relay& relay, std::uint64_t sequence, Reply* reply) const {
  if (!relay.numbered || sequence == relay.applied + 1) {
    relay.numbered = true;
    relay.gap.clear();
    return true;
  }
  reply->out_of_order = absl::StrCat("relay ", id, " sent message ", sequence, " where message ", relay.applied + 1,
                                     " was due: it was not taken, for what is acknowledged has no gaps");
  relay.gap = reply->out_of_order;
  return false;
}

// The relay may be told that all is durable, and somebody may have read the file: it says now that this was not all.
// The run is opened again for that once, whatever else comes.
void Run::refuse_after_goodbye(const std::string& id, Relay& relay, const v1::Batch& batch, Reply* reply) {
  reply->out_of_order =
      absl::StrCat("relay ", id, " sent batch ", batch.sequence(), " after its goodbye: it was not taken");
  if (std::exchange(relay.late, true)) return;
  const bool was_open = sink_ != nullptr;
  if (!ensure_open().ok()) return;
  if (note_missing(reply->out_of_order).ok()) (void)commit();
  if (!was_open) close(closing_.farewell);
}

EventsWanted Run::events_wanted() const {
  return keeper_->events_wanted ? keeper_->events_wanted(opening_.id) : EventsWanted();
}

// The report says why events were dropped, or are missing.
absl::Status Run::note_quota(const EventsWanted& wanted) {
  if (wanted.how == EventsWanted::How::kAll || wanted.why == quota_told_) return absl::OkStatus();
  quota_told_ = wanted.why;
  absl::Status status = sink_->notice(wanted.why);
  return status.ok() ? status : give_up(status);
}

absl::Status Run::take(Relay& relay, const v1::Batch& batch, Reply* reply) {
  if (absl::Status status = ensure_open(); !status.ok()) return status;
  note_news();
  const EventsWanted wanted = events_wanted();
  if (absl::Status status = note_quota(wanted); !status.ok()) return status;
  validator_.bound_definitions(wanted.most_definition_bytes);
  const RunSums before = validator_.sums();
  const Verdict verdict = validator_.apply(batch, *sink_, wanted.how != EventsWanted::How::kNone);
  if (!verdict.failed.ok()) return give_up(verdict.failed);
  if (!verdict.rejected.ok()) {
    v1::Rejection rejection;
    if (verdict.reason == store::IncompleteReason::kProcessRejected) rejection.set_process_key(batch.process_key());
    rejection.set_sentence(std::string(verdict.rejected.message()));
    // The file says it, too: without what was rejected the run is not complete.
    if (absl::Status status = sink_->incomplete(verdict.reason, rejection.process_key(), rejection.sentence());
        !status.ok())
      return give_up(status);
    if (relay.rejections.size() < kMostKeptRejections) relay.rejections.push_back(std::move(rejection));
  }
  const std::size_t bytes = batch.ByteSizeLong();
  uncommitted_ += bytes;
  relay.applied = std::max<std::uint64_t>(relay.applied, batch.sequence());
  if (keeper_->taken)
    reply->pause =
        keeper_->taken(opening_.id, {.bytes = bytes,
                                     .events = validator_.sums().events_received() - before.events_received(),
                                     .events_dropped = validator_.sums().events_dropped() - before.events_dropped()});
  return absl::OkStatus();
}

// A relay that sends a message again sends what it sent before. One that introduces a process which never came, under a
// number that is acknowledged, sends another run under the same names: that would be acknowledged, and lost.
bool Run::is_of_another_run(const std::string& id, const v1::Batch& batch, Reply* reply) {
  if (!batch.has_process_begin() || validator_.knows(batch.process_key())) return false;
  reply->out_of_order = absl::StrCat("relay ", id, " introduces process ", batch.process_key(), " in message ",
                                     batch.sequence(), ", and message ", relays_[id].applied,
                                     " was acknowledged to it before: it was not taken; a new run needs a new run_id");
  tell_refused(reply->out_of_order);
  return true;
}

absl::Status Run::take_batch(const Stream& stream, const v1::Batch& batch, Reply* reply) {
  const std::string& id = stream.relay;
  Relay& relay = relays_[id];
  if (absl::Status status = still_current(relay, stream); !status.ok()) return status;
  const std::uint64_t sequence = batch.sequence();
  if (relay.done() && sequence > relay.applied) return refuse_after_goodbye(id, relay, batch, reply), absl::OkStatus();
  // After its goodbye a relay whose last acknowledgement was lost introduces its processes again, for nothing.
  const bool known = relay.done() || (sequence != 0 && sequence <= relay.applied);
  if (known && is_of_another_run(id, batch, reply)) return absl::OkStatus();
  if (!known) {
    if (absl::Status status = note_relay(id, &relay); !status.ok()) return status;
    if (sequence != 0 && !is_due(id, relay, sequence, reply)) return absl::OkStatus();
    if (absl::Status status = take(relay, batch, reply); !status.ok()) return status;
  }
  if (batch.flush() || uncommitted_ > kMostUncommittedBytes) {
    if (uncommitted_ > 0) {
      if (absl::Status status = commit(); !status.ok()) return status;
    }
    return answer(relay, reply);
  }
  return absl::OkStatus();
}

absl::Status Run::take_goodbye(const Stream& stream, const v1::Goodbye& goodbye, Reply* reply) {
  const std::string& id = stream.relay;
  Relay& relay = relays_[id];
  if (absl::Status status = still_current(relay, stream); !status.ok()) return status;
  if (relay.done()) {
    // A relay that says goodbye again says what it said before.
    if (const std::string other = other_goodbye(goodbye, relay.said); !other.empty()) {
      reply->out_of_order =
          absl::StrCat("relay ", id, " says goodbye ", other, ": it was not taken; a new run needs a new run_id");
      return absl::OkStatus();
    }
  } else {
    if (absl::Status status = note_relay(id, &relay); !status.ok()) return status;
    if (!is_due(id, relay, goodbye.sequence(), reply)) return absl::OkStatus();
    if (absl::Status status = ensure_open(); !status.ok()) return status;
    note_news();
    if (absl::Status status = take_ending(id, goodbye, &relay.said); !status.ok()) return status;
    relay.applied = goodbye.sequence();
    if (absl::Status status = commit(); !status.ok()) return status;
    if (all_done()) close(true);
  }
  return answer(relay, reply);
}

absl::Status Run::take_ending(const std::string& id, const v1::Goodbye& goodbye, store::RelayState* said) {
  *said = ending_of(goodbye);
  said->relay = id;
  for (const std::string& notice : goodbye.notices())
    if (absl::Status status = sink_->notice(notice); !status.ok()) return give_up(status);
  for (const v1::Missing& one : goodbye.missing()) {
    const std::string sentence = one.sentence().empty()
                                     ? absl::StrCat("relay ", id, " says that something is missing, and not what")
                                     : one.sentence();
    if (absl::Status status = sink_->incomplete(missing_reason(one), one.process_key(), sentence); !status.ok())
      return give_up(status);
  }
  if (tells_possible_end(goodbye)) return absl::OkStatus();
  const std::string sentence =
      absl::StrCat("relay ", id, " says that the job ended with exit code ", goodbye.exit_code(), " and signal ",
                   goodbye.signal(), ": there are none such, and neither was taken");
  return note_missing(sentence);
}

void Run::note_news() {
  if (!std::exchange(news_, true) && keeper_->goes_on) keeper_->goes_on(opening_.id);
}

absl::Status Run::note_missing(const std::string& sentence) {
  note_news();
  absl::Status status = sink_->incomplete(store::IncompleteReason::kBatchRejected, "", sentence);
  return status.ok() ? status : give_up(status);
}

// A relay may fill a gap as long as the run is open. Now it is too late.
void Run::tell_gaps() {
  bool any = false;
  for (auto& [id, relay] : relays_) {
    if (relay.gap.empty()) continue;
    if (!note_missing(std::exchange(relay.gap, {})).ok()) return;
    any = true;
  }
  if (any) (void)commit();  // nobody can receive the error
}

void Run::close(bool farewell) {
  if (sink_ == nullptr) return;
  tell_gaps();
  if (sink_ == nullptr) return;  // it failed
  sink_.reset();
  given_up_ = false;
  closing_.farewell = farewell;
  if (!farewell || news_ || !finished_) finished_ = farewell ? std::make_optional(Clock::now()) : std::nullopt;
  std::vector<store::RelayState> said;
  for (const auto& [id, relay] : relays_) said.push_back(relay.said), said.back().relay = id;
  closing_.unseen = what_is_unseen(said);
  const store::RelayState end = end_of_job(said);
  closing_.exit_status = end.exit_status, closing_.signal = end.signal;
  closing_.nothing_new = !news_;
  if (keeper_->close) keeper_->close(opening_.id, closing_);
}

}  // namespace castscope::ingest
