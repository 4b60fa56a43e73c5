// Batches between the thread that makes them and the thread that sends them. Sent batches stay here until the collector
// has acknowledged them, so that they can be sent again over a new connection.
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

// Describes what an acknowledgement of the batch means to the segment that the batch came from.
struct Receipt {
  std::uint64_t source = 0;  // number of the SegmentSource
  std::size_t lane = 0;
  std::uint64_t end = 0;  // events of the lane before this number are durable
  std::uint64_t events = 0;
  bool last = false;  // the batch reported the end of the process
};

class Outbox {
 public:
  using Message = std::shared_ptr<const v1::RelayMessage>;
  using Clock = std::chrono::steady_clock;

  explicit Outbox(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

  // ---- for the making thread
  // push gives the message its sequence number.
  void push(std::unique_ptr<v1::RelayMessage> message, std::vector<Receipt> receipts);
  bool full() const;
  std::uint64_t bytes() const;
  std::vector<Receipt> take_acknowledged();
  std::map<std::string, std::string> take_rejections();  // process → sentence
  bool take_watched();                                   // an answer since the last call said that somebody watches
  void ask();                                            // requests an answer when there is nothing to push
  // Returns true if everything pushed was acknowledged before `deadline`.
  bool wait_until_empty(Clock::time_point deadline);

  // After a reconnect some processes have to be introduced again, and only the making thread knows which. The sending
  // thread asks for introductions, and goes on when it has them.
  bool introductions_wanted() const;
  void introduce(std::vector<Message> messages);

  // ---- for the sending thread
  void want_introductions();  // and sends everything again that is not acknowledged
  // Waits for the next message to send; returns null when interrupt() was called.
  Message next();
  void acknowledge(const v1::Ack& ack);
  std::uint64_t acknowledged() const;  // the last sequence number that was
  void interrupt();                    // the connection is lost, or the relay stops
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
  std::deque<Entry> entries_;  // not yet acknowledged, in order
  std::size_t sent_ = 0;       // the number of entries sent over the present connection
  std::deque<Message> introductions_;
  bool introductions_wanted_ = false, interrupted_ = false;
  bool asked_ = false, watched_ = false;
  std::uint64_t last_sequence_ = 0, bytes_ = 0;
  std::vector<Receipt> acknowledged_;
  std::map<std::string, std::string> rejections_;
};

}  // namespace castscope::relay
