// What others may ask of a run: each call is made under the run's mutex, and survives that there is no memory for it.
#include <algorithm>
#include <new>

#include "absl/strings/str_cat.h"
#include "server/ingest/run/run.h"

namespace castscope::ingest {
namespace {

constexpr std::chrono::seconds kKeptAfterItsEnd{10};

// To be made while there is memory. A copy takes none.
const absl::Status& no_memory() {
  static const absl::Status status = absl::ResourceExhaustedError(
      "the collector has not enough memory now: give it more (ulimit -v, or the limit of its container)");
  return status;
}

}  // namespace

Run::Run(RunOpening opening, const RunKeeper* keeper) : opening_(std::move(opening)), keeper_(keeper) {
  (void)no_memory();
}

// What was interrupted has left the sink in a state that nobody knows, as a full disk does.
template <typename Act>
absl::Status Run::with_memory(Act act) {
  try {
    return act();
  } catch (const std::bad_alloc&) {
    return opened_ ? give_up(no_memory()) : no_memory();
  }
}

template <typename Act>
absl::Status Run::with_lock_and_memory(Act act) {
  std::lock_guard lock(mutex_);
  return with_memory(act);
}

absl::Status Run::attach(const RunOpening& opening, Stream* stream, std::optional<std::uint64_t> acknowledged,
                         Reply* reply, Clock::time_point now) {
  return with_lock_and_memory([&] { return let_in(opening, stream, acknowledged, reply, now); });
}

absl::Status Run::apply(const Stream& stream, const v1::Batch& batch, Reply* reply, const std::function<bool()>& gone) {
  return with_lock_and_memory(
      [&] { return gone && gone() ? absl::UnavailableError("the relay has gone") : take_batch(stream, batch, reply); });
}

absl::Status Run::goodbye(const Stream& stream, const v1::Goodbye& goodbye, Reply* reply) {
  return with_lock_and_memory([&] { return take_goodbye(stream, goodbye, reply); });
}

absl::Status Run::ask(const Stream& stream, Reply* reply) {
  return with_lock_and_memory([&] {
    Relay& relay = relays_[stream.relay];
    absl::Status status = still_current(relay, stream);
    if (status.ok() && relay.applied != relay.durable) status = commit();
    return status.ok() ? answer(relay, reply) : status;
  });
}

void Run::refused(const std::string& id, const std::string& sentence) {
  (void)with_lock_and_memory(
      [&] { return tell_refused(absl::StrCat("relay ", id, ": ", sentence)), absl::OkStatus(); });
}

void Run::detach(const Stream& stream, Clock::time_point now) {
  std::lock_guard lock(mutex_);
  const auto relay = relays_.find(stream.relay);
  if (relay == relays_.end()) return;  // it was not let in
  relay->second.streams = std::max(0, relay->second.streams - 1);
  relay->second.left = now;
}

void Run::close_abandoned(Clock::time_point now, Clock::duration patience) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) (void)with_memory([&] { return close_if_over(now, patience), absl::OkStatus(); });
}

absl::Status Run::take_up() {
  return with_lock_and_memory([&] {
    if (absl::Status status = ensure_open(); !status.ok()) return status;
    if (!relays_.empty() && all_done()) close(true);
    return absl::OkStatus();
  });
}

// What was told once of a relay that went on after its goodbye is in no file.
bool Run::can_be_forgotten(Clock::time_point now) {
  std::lock_guard lock(mutex_);
  return sink_ == nullptr && !given_up_ && std::ranges::all_of(relays_, [now](const auto& entry) {
           const Relay& relay = entry.second;
           return relay.streams == 0 && !relay.late && now - relay.left >= kKeptAfterItsEnd;
         });
}

void Run::commit_what_came() {
  (void)with_lock_and_memory([&] { return sink_ != nullptr && uncommitted_ > 0 ? commit() : absl::OkStatus(); });
}

void Run::shutdown() {
  (void)with_lock_and_memory([&] {
    if (sink_ != nullptr && uncommitted_ > 0) (void)commit();  // nobody can receive the error
    return close(false), absl::OkStatus();
  });
}

absl::Status another_senders(const std::string& run_id) {
  return absl::UnauthenticatedError(absl::StrCat(
      "run ", run_id, " was begun by another sender, who alone may send more of it: its key is another one"));
}

}  // namespace castscope::ingest
