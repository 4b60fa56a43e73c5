#include "server/relay/outbox.h"

#include <iterator>
#include <utility>

namespace castscope::relay {

void Outbox::push(std::unique_ptr<v1::RelayMessage> message, std::vector<Receipt> receipts) {
  const std::lock_guard lock(mutex_);
  Entry entry;
  entry.sequence = ++last_sequence_;
  if (message->has_goodbye())
    message->mutable_goodbye()->set_sequence(entry.sequence);
  else
    message->mutable_batch()->set_sequence(entry.sequence);
  entry.bytes = message->ByteSizeLong();
  entry.receipts = std::move(receipts);
  entry.message = std::move(message);
  bytes_ += entry.bytes;
  entries_.push_back(std::move(entry));
  changed_.notify_all();
}

bool Outbox::full() const {
  const std::lock_guard lock(mutex_);
  return bytes_ >= most_bytes_;
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
  if (has_entry()) return entries_[sent_++].message;
  asked_ = false;
  auto message = std::make_shared<v1::RelayMessage>();
  message->mutable_ask();
  return message;
}

void Outbox::acknowledge(const v1::Ack& ack) {
  const std::lock_guard lock(mutex_);
  while (!entries_.empty() && entries_.front().sequence <= ack.sequence()) {
    Entry& entry = entries_.front();
    acknowledged_.insert(acknowledged_.end(), entry.receipts.begin(), entry.receipts.end());
    bytes_ -= entry.bytes;
    entries_.pop_front();
    if (sent_ > 0) --sent_;
  }
  for (const v1::Rejection& rejection : ack.rejections())
    rejections_.try_emplace(rejection.process_key(), rejection.sentence());
  watched_ = watched_ || ack.watched();
  changed_.notify_all();
}

std::uint64_t Outbox::acknowledged() const {
  const std::lock_guard lock(mutex_);
  return entries_.empty() ? last_sequence_ : entries_.front().sequence - 1;
}

void Outbox::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  changed_.notify_all();
}

void Outbox::resume() {
  const std::lock_guard lock(mutex_);
  interrupted_ = false;
}

}  // namespace castscope::relay
