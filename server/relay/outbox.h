// Batches between the thread that makes them and the thread that sends them. What was sent stays here until the
// collector has acknowledged it, so that it can be sent again over a new connection.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "proto/castscope/v1/castscope.pb.h"

namespace castscope::relay {

// What an acknowledgement means to the segment that the batch came from.
struct Receipt {
  std::uint64_t source = 0;  // number of the SegmentSource
  std::size_t lane = 0;
  std::uint64_t end = 0;  // events of the lane before this number are durable
  std::uint64_t events = 0;
  bool last = false;  // the batch told the end of the process
};

class Outbox {
 public:
  using Message = std::shared_ptr<const v1::RelayMessage>;
  using Clock = std::chrono::steady_clock;

  explicit Outbox(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

  // The making side. push gives the message its sequence number.
  void push(std::unique_ptr<v1::RelayMessage> message, std::vector<Receipt> receipts);
  bool full() const;
  std::uint64_t bytes() const;
  std::vector<Receipt> take_acknowledged();
  std::map<std::string, std::string> take_rejections();  // process → sentence
  bool take_watched();                                   // an answer since the last call said that somebody watches
  void ask();                                            // for an answer, where there is nothing to push
  // True when everything pushed was acknowledged before `deadline`.
  bool wait_until_empty(Clock::time_point deadline);

  // Between two connections: which processes have to be introduced again is known to the making side only. The
  // sending side asks, and goes on when the answer is there.
  bool introductions_wanted() const;
  void introduce(std::vector<Message> messages);

  // The sending side.
  void want_introductions();  // and send again everything that is not acknowledged
  // The next message to send; null when interrupt() was called.
  Message next();
  void acknowledge(const v1::Ack& ack);
  void interrupt();  // the connection is gone, or the relay stops
  void resume();

 private:
  struct Entry {
    Message message;
    std::uint64_t sequence = 0, bytes = 0;
    std::vector<Receipt> receipts;
  };
  const std::uint64_t most_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> entries_;  // not acknowledged, in order
  std::size_t sent_ = 0;       // of them, over the present connection
  std::deque<Message> introductions_;
  bool introductions_wanted_ = false, interrupted_ = false;
  bool asked_ = false, watched_ = false;
  std::uint64_t last_sequence_ = 0, bytes_ = 0;
  std::vector<Receipt> acknowledged_;
  std::map<std::string, std::string> rejections_;
};

}  // namespace castscope::relay
