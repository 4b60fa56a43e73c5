// How a relay's stream begins: who is let in, and where the relay goes on.
#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/ingest/run/run.h"

namespace castscope::ingest {
namespace {

// They stay in memory while the run goes on, and senders alone decide how many there are.
constexpr std::size_t kMostRelays = 65'536;

// The time that has passed since this moment, in ns since the epoch.
Run::Clock::duration since(std::int64_t epoch_ns) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::max(Run::Clock::duration(0),
                  std::chrono::duration_cast<Run::Clock::duration>(now - std::chrono::nanoseconds(epoch_ns)));
}

}  // namespace

// An earlier collector wrote this file, or this one before it had to give up, and it is known from it how far it was
// with whom. All of those relays may come back.
void Run::remember(const store::EarlierLife& earlier) {
  validator_.adopt(earlier);
  for (const store::RelayState& state : earlier.relays) {
    Relay& relay = relays_[state.relay];
    relay.applied = relay.durable = state.acknowledged;
    relay.numbered = true;
    relay.left = Clock::now();
    relay.said = state;
  }
  if (earlier.end_ns && !relays_.empty() && all_done() && !finished_) finished_ = Clock::now() - since(*earlier.end_ns);
}

// A run belongs to whoever began it, and one without a key to everybody.
absl::Status Run::may_send(const RunOpening& opening, const std::string& id, Clock::time_point now) {
  if (!opened_) opening_ = opening;
  if (!opening_.owner.empty() && opening.owner != opening_.owner) return another_senders(opening_.id);
  opening_.sender = opening.sender, opening_.token = opening.token;
  if (opened_ && keeper_->let_in) keeper_->let_in(opening_);
  if (!opened_)
    if (absl::Status status = ensure_open(); !status.ok()) return status;
  absl::Status status = still_open(id, now);
  if (!status.ok() && all_done()) close(true);  // it was opened only for that
  return status;
}

absl::Status Run::still_open(const std::string& id, Clock::time_point now) {
  const auto relay = relays_.find(id);
  const bool is_over = finished_ && now - *finished_ > kMayGoOn;
  if (!is_over || (relay != relays_.end() && relay->second.done())) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "run ", opening_.id, " is finished, and what is finished stays as it is: a new run needs a new run_id"));
}

absl::Status Run::let_in(const RunOpening& opening, Stream* stream, std::optional<std::uint64_t> acknowledged,
                         Reply* reply, Clock::time_point now) {
  const std::string& id = stream->relay;
  if (absl::Status status = may_send(opening, id, now); !status.ok()) return status;
  if (relays_.size() >= kMostRelays && !relays_.contains(id))
    return absl::FailedPreconditionError(absl::StrCat("run ", opening_.id, " has ", kMostRelays, " relays already"));
  Relay& relay = relays_[id];
  ++relay.streams;
  stream->number = ++relay.stream;
  relay.life = life_;
  if (!relay.done()) {
    if (absl::Status status = ensure_open(); !status.ok()) return status;
  }
  // A run that had ended stays so until something comes.
  const bool had_ended = relays_.size() > 1 && std::ranges::all_of(relays_, [&](const auto& entry) {
                           return entry.first == id || entry.second.done();
                         });
  if (!had_ended) {
    if (absl::Status status = note_relay(id, &relay); !status.ok()) return status;
  }
  // The relay may be another life of the one that sent this: it does not send it again, and numbers its own from here.
  if (relay.applied != relay.durable)
    if (absl::Status status = commit(); !status.ok()) return status;
  const bool claims_more = acknowledged && *acknowledged > relay.durable;
  if (claims_more && !relay.done())
    if (absl::Status status = believe(id, *acknowledged, &relay); !status.ok()) return status;
  relay.numbered |= acknowledged.has_value();
  if (claims_more && relay.done()) {
    reply->out_of_order = absl::StrCat("relay ", id, " says that message ", *acknowledged,
                                       " was acknowledged to it, and the last one that was is ", relay.durable);
    tell_refused(reply->out_of_order);
  } else {
    relay.rejections_told = 0;  // rejections sent in a broken stream may not have arrived
    if (relay.durable > 0 || !relay.rejections.empty())
      if (absl::Status status = answer(relay, reply); !status.ok()) return status;
  }
  if (all_done()) close(true);  // it was opened only to see how far the relays are in it
  return absl::OkStatus();
}

// The file learns of the relay before anything that comes from it: if this collector is killed, the next one knows
// whose goodbye is missing.
absl::Status Run::note_relay(const std::string& id, Relay* relay) {
  if (!relay->said.relay.empty()) return absl::OkStatus();
  if (absl::Status status = ensure_open(); !status.ok()) return status;
  relay->said.relay = id;
  absl::Status status = sink_->relay(relay->said);
  if (!status.ok()) return give_up(status);
  status = commit();
  note_news();  // the report is deleted after the file says that the run goes on
  return status;
}

// Messages were acknowledged that this file does not have. They went elsewhere where it does not know the relay at all;
// else it is an older copy of what it was, or a power cut took its end. The relay has them no more, so that the file
// says what is missing, and the relay goes on.
absl::Status Run::believe(const std::string& id, std::uint64_t acknowledged, Relay* relay) {
  const std::string which = absl::StrCat("messages ", relay->durable + 1, " to ", acknowledged, " of relay ", id);
  const std::string sentence =
      relay->durable == 0
          ? absl::StrCat(which, " were acknowledged before this file began: what they told is not in it")
          : absl::StrCat(which,
                         " were acknowledged, and this file has lost them, or is an older copy: single events that ",
                         "they told are not in it");
  relay->applied = acknowledged;
  absl::Status status = note_missing(sentence);
  return status.ok() ? commit() : status;
}

}  // namespace castscope::ingest
