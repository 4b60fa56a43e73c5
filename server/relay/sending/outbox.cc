#include "server/relay/sending/outbox.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/batch_checksum.h"
#include "server/utf8/utf8.h"

namespace castscope::relay {

namespace {

// Of a batch or a goodbye; the checksum covers the number.
template <typename Part>
void number(Part& part, std::uint64_t sequence) {
  part.set_sequence(sequence);
  part.set_checksum(wire::checksum_of(part));
}

void number(v1::RelayMessage& message, std::uint64_t sequence) {
  if (message.has_goodbye())
    number(*message.mutable_goodbye(), sequence);
  else
    number(*message.mutable_batch(), sequence);
}

}  // namespace

std::unique_ptr<Outbox> Outbox::of(std::unique_ptr<Spool> spool, const std::vector<Spool::Place>& messages,
                                   std::uint64_t first_sequence) {
  auto outbox = std::make_unique<Outbox>(0);
  outbox->last_sequence_ = first_sequence - 1;
  for (const Spool::Place& place : messages) {
    Entry& entry = outbox->entries_.emplace_back();
    entry.place = place;
    entry.sequence = ++outbox->last_sequence_;
    entry.bytes = place.bytes;
    outbox->bytes_ += entry.bytes;
  }
  outbox->spool_ = std::move(spool);
  // The earlier relay may have sent more than its file has: where the disk was full, or the file was damaged.
  outbox->last_sent_ = std::numeric_limits<std::uint64_t>::max();
  return outbox;
}

void Outbox::push(std::unique_ptr<v1::RelayMessage> message, std::vector<Receipt> receipts) {
  const std::lock_guard lock(mutex_);
  Entry entry;
  entry.sequence = ++last_sequence_;
  number(*message, entry.sequence);
  entry.bytes = message->ByteSizeLong();
  entry.receipts = std::move(receipts);
  entry.message = std::move(message);
  bytes_ += entry.bytes;
  in_memory_ += entry.bytes;
  if (spool_ != nullptr && spool_failed_.ok()) spool_failed_ = spool(entry);
  entries_.push_back(std::move(entry));
  if (over_) let_go_of_first();
  changed_.notify_all();
}

absl::Status Outbox::spool(Entry& entry) {
  if (entry.message == nullptr) return absl::OkStatus();
  if (!spool_->has_room(entry.bytes))
    return absl::ResourceExhaustedError(absl::StrCat(
        spool_->path(), " may not grow any more: CASTSCOPE_SPOOL_BYTES sets how much may wait there in all"));
  absl::StatusOr<Spool::Place> place = spool_->add(*entry.message);
  if (!place.ok()) return place.status();
  entry.place = *place;
  entry.message.reset();
  in_memory_ -= entry.bytes;
  return absl::OkStatus();
}

absl::Status Outbox::keep_in(std::unique_ptr<Spool> spool_to_use) {
  const std::lock_guard lock(mutex_);
  spool_ = std::move(spool_to_use);
  const absl::Status status = spool_all();
  const bool holds_nothing = !entries_.empty() && entries_.front().message != nullptr;
  if (!status.ok() && holds_nothing) (void)spool_->remove(), spool_.reset();
  return status;
}

absl::Status Outbox::keep_rest() {
  const std::lock_guard lock(mutex_);
  return spool_ != nullptr ? spool_all() : absl::OkStatus();
}

// Called with the lock held.
absl::Status Outbox::spool_all() {
  spool_failed_ = absl::OkStatus();
  for (Entry& entry : entries_)
    if (spool_failed_.ok()) spool_failed_ = spool(entry);
  return spool_failed_;
}

bool Outbox::spools() const {
  const std::lock_guard lock(mutex_);
  return spool_ != nullptr;
}

absl::StatusOr<std::string> Outbox::rest_of_spool() const {
  const std::lock_guard lock(mutex_);
  return rest_of_spool_;
}

absl::StatusOr<std::string> Outbox::sync() {
  const std::lock_guard lock(mutex_);
  if (spool_ == nullptr) return "";
  if (absl::Status status = spool_all(); !status.ok()) return status;  // for some, there may have been no room before
  if (absl::Status status = spool_->sync(); !status.ok()) return status;
  return spool_->path();
}

void Outbox::continue_after(std::uint64_t sequence, bool said_goodbye) {
  const std::lock_guard lock(mutex_);
  over_ = said_goodbye;
  while (over_ && !entries_.empty()) let_go_of_first();
  changed_.notify_all();
  last_sequence_ += sequence;
  last_sent_ = std::max(last_sent_, sequence);
  for (Entry& entry : entries_) {
    entry.sequence += sequence;
    if (entry.message != nullptr) number(*entry.message, entry.sequence);
  }
}

bool Outbox::full() const {
  const std::lock_guard lock(mutex_);
  return in_memory_ >= most_bytes_;
}

std::uint64_t Outbox::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::vector<Receipt> Outbox::take_acknowledged() {
  const std::lock_guard lock(mutex_);
  return std::exchange(acknowledged_, {});
}

std::map<std::string, std::string> Outbox::take_rejections() {
  const std::lock_guard lock(mutex_);
  return std::exchange(rejections_, {});
}

bool Outbox::holds_events() const {
  const std::lock_guard lock(mutex_);
  return holds_events_;
}

bool Outbox::take_watched() {
  const std::lock_guard lock(mutex_);
  return std::exchange(watched_, false);
}

void Outbox::ask() {
  const std::lock_guard lock(mutex_);
  asked_ = true;
  changed_.notify_all();
}

bool Outbox::wait_until_empty(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [this] { return entries_.empty(); });
}

bool Outbox::introductions_wanted() const {
  const std::lock_guard lock(mutex_);
  return introductions_wanted_;
}

void Outbox::introduce(std::vector<Message> messages) {
  const std::lock_guard lock(mutex_);
  if (!introductions_wanted_) return;
  introductions_.assign(std::make_move_iterator(messages.begin()), std::make_move_iterator(messages.end()));
  introductions_wanted_ = false;
  changed_.notify_all();
}

void Outbox::want_introductions() {
  const std::lock_guard lock(mutex_);
  introductions_.clear();
  introductions_wanted_ = true;
  sent_ = 0;
}

Outbox::Message Outbox::next() {
  std::unique_lock lock(mutex_);
  const auto has_entry = [this] { return !introductions_wanted_ && sent_ < entries_.size(); };
  changed_.wait(lock, [&] { return interrupted_ || asked_ || !introductions_.empty() || has_entry(); });
  if (interrupted_) return nullptr;
  if (!introductions_.empty()) {
    Message message = std::move(introductions_.front());
    introductions_.pop_front();
    return message;
  }
  if (has_entry()) {
    const Entry& entry = entries_[sent_++];
    last_sent_ = std::max(last_sent_, entry.sequence);
    return message_of(entry);
  }
  asked_ = false;
  auto message = std::make_shared<v1::RelayMessage>();
  message->mutable_ask();
  return message;
}

// Null where the disk does not give it back: the connection ends, and it is tried again.
Outbox::Message Outbox::message_of(const Entry& entry) {
  if (entry.message != nullptr) return entry.message;
  absl::StatusOr<v1::RelayMessage> message = spool_->read(entry.place);
  if (!message.ok()) return spool_failed_ = message.status(), nullptr;
  return std::make_shared<const v1::RelayMessage>(*std::move(message));
}

void Outbox::let_go_of_first() {
  const Entry& entry = entries_.front();
  acknowledged_.insert(acknowledged_.end(), entry.receipts.begin(), entry.receipts.end());
  bytes_ -= entry.bytes;
  if (entry.message != nullptr) in_memory_ -= entry.bytes;
  entries_.pop_front();
  if (sent_ > 0) --sent_;
}

bool Outbox::acknowledge(const v1::Ack& ack) {
  const std::lock_guard lock(mutex_);
  if (ack.sequence() > last_sent_) return false;
  while (!entries_.empty() && entries_.front().sequence <= ack.sequence()) let_go_of_first();
  if (entries_.empty() && spool_ != nullptr) rest_of_spool_ = spool_->remove(), spool_.reset();
  for (const v1::Rejection& rejection : ack.rejections())
    rejections_.try_emplace(rejection.process_key(), utf8::sentence_of_others(rejection.sentence()));
  watched_ = watched_ || ack.watched();
  holds_events_ = ack.hold_events();
  changed_.notify_all();
  return true;
}

std::uint64_t Outbox::acknowledged() const {
  const std::lock_guard lock(mutex_);
  return entries_.empty() ? last_sequence_ : entries_.front().sequence - 1;
}

void Outbox::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  holds_events_ = false;
  changed_.notify_all();
}

void Outbox::resume() {
  const std::lock_guard lock(mutex_);
  interrupted_ = false;
}

}  // namespace castscope::relay
