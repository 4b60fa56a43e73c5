#include "server/relay/sending/bring_home.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/batch_checksum.h"
#include "proto/quiet.h"
#include "server/relay/sending/outbox.h"
#include "server/relay/sending/uplink.h"

namespace castscope::relay {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kBetweenQuestions{200};

std::uint64_t sequence_of(const v1::RelayMessage& message) {
  return message.has_goodbye() ? message.goodbye().sequence() : message.batch().sequence();
}

// What a batch defines, to be told again: the collector may have acknowledged it and have been started again since.
void add_definitions(const v1::RelayMessage& message, std::vector<Outbox::Message>& to) {
  const v1::Batch& batch = message.batch();
  if (!batch.has_process_begin() && batch.definitions().empty() && batch.plain_definitions().empty()) return;
  auto again = std::make_shared<v1::RelayMessage>();
  v1::Batch& told = *again->mutable_batch();
  told.set_process_key(batch.process_key());
  if (batch.has_process_begin()) *told.mutable_process_begin() = batch.process_begin();
  told.set_definitions(batch.definitions());
  *told.mutable_plain_definitions() = batch.plain_definitions();
  told.set_checksum(wire::checksum_of(told));
  to.push_back(std::move(again));
}

absl::StatusOr<Homecoming> let_go(bool sent, const absl::StatusOr<std::string>& rest) {
  if (rest.ok()) return Homecoming{.sent = sent, .rest = *rest};
  return absl::FailedPreconditionError(
      absl::StrCat(sent ? "the collector has taken all of it that can be read, but " : "it holds no message, but ",
                   rest.status().message()));
}

}  // namespace

absl::StatusOr<Waiting> look_into(const std::string& path) {
  Spool::Contents contents;
  const auto spool = Spool::open(path, &contents);
  if (!spool.ok()) return spool.status();
  return Waiting{.path = path,
                 .run_id = contents.hello.run_id(),
                 .run_file_name = contents.hello.run_file_name(),
                 .begin_realtime_ns = contents.hello.start_epoch_ns(),
                 .bytes = (*spool)->bytes(),
                 .destination = contents.destination,
                 .damage = contents.damage};
}

absl::StatusOr<Homecoming> bring_home(const std::string& path, const BringHomeOptions& options) {
  wire::quiet_libraries();
  Spool::Contents contents;
  absl::StatusOr<std::unique_ptr<Spool>> spool = Spool::open(path, &contents);
  if (!spool.ok()) return spool.status();
  std::vector<Outbox::Message> introductions;
  for (v1::RelayMessage& message : contents.introductions)
    introductions.push_back(std::make_shared<v1::RelayMessage>(std::move(message)));
  std::uint64_t first = 1;
  for (const Spool::Place& place : contents.messages) {
    const absl::StatusOr<v1::RelayMessage> message = (*spool)->read(place);
    if (!message.ok()) return message.status();
    if (&place == &contents.messages.front()) first = sequence_of(*message);
    add_definitions(*message, introductions);
  }
  if (contents.messages.empty()) return let_go(false, (*spool)->remove());
  contents.hello.set_token(options.token);
  const std::unique_ptr<Outbox> outbox = Outbox::of(*std::move(spool), contents.messages, first);
  outbox->want_introductions();
  Uplink uplink(options.channel, contents.hello, outbox.get());
  uplink.start();
  bool delivered = false;
  std::uint64_t left = outbox->bytes();
  Clock::time_point next_question = Clock::now() + kBetweenQuestions;
  const auto last_taken = options.last_taken != nullptr ? options.last_taken : std::make_shared<LastTaken>();
  const Clock::time_point begin = Clock::now();
  while (!delivered && !uplink.shut_out() && Clock::now() - std::max(begin, last_taken->load()) < options.patience &&
         !(options.stopped && options.stopped())) {
    if (outbox->introductions_wanted()) outbox->introduce(introductions);
    // A file that was cut short may end with a message that nobody has to answer.
    if (Clock::now() >= next_question) outbox->ask(), next_question = Clock::now() + kBetweenQuestions;
    delivered = outbox->wait_until_empty(Clock::now() + milliseconds(20));
    if (std::exchange(left, outbox->bytes()) != left) *last_taken = Clock::now();
  }
  uplink.stop();
  if (delivered) return let_go(true, outbox->rest_of_spool());
  const std::string why = uplink.trouble();
  return absl::UnavailableError(why.empty() ? "the collector does not acknowledge it" : why);
}

}  // namespace castscope::relay
