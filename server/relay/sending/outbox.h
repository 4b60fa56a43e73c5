// Batches between the thread that makes them and the thread that sends them. Sent batches stay here until the collector
// has acknowledged them, so that they can be sent again over a new connection; where there is a spool, on disk.
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
#include "server/relay/sending/spool.h"

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
  // Of messages that an earlier relay left in this spool.
  static std::unique_ptr<Outbox> of(std::unique_ptr<Spool> spool, const std::vector<Spool::Place>& messages,
                                    std::uint64_t first_sequence);

  // ---- for the making thread
  // push gives the message its sequence number.
  void push(std::unique_ptr<v1::RelayMessage> message, std::vector<Receipt> receipts);
  bool full() const;
  std::uint64_t bytes() const;  // not acknowledged, in memory or not
  // Moves everything that is not acknowledged to disk, and from then on what is pushed, until all of it is
  // acknowledged: the spool's file is removed then. After an error what is in memory stays there;
  // a spool in which none of it found room is removed.
  absl::Status keep_in(std::unique_ptr<Spool> spool);
  // After such an error: puts what is in memory into the spool, which may have room again.
  absl::Status keep_rest();
  bool spools() const;
  // When the collector has acknowledged all, the outbox calls Spool::remove(), whose result this returns: "" if the
  // file is gone, the name of the file that keeps what castscope could not read, or the error that kept it from
  // deleting it.
  absl::StatusOr<std::string> rest_of_spool() const;
  // Everything is on the disk: the path of the file; "" = there is no spool, or the error that it met.
  absl::StatusOr<std::string> sync();
  std::vector<Receipt> take_acknowledged();
  std::map<std::string, std::string> take_rejections();  // process → sentence
  bool take_watched();                                   // an answer since the last call said that somebody watches
  bool holds_events() const;                             // the last answer said that no events are wanted
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
  // Returns false, and takes nothing of it, where it speaks of what was never sent.
  [[nodiscard]] bool acknowledge(const v1::Ack& ack);
  std::uint64_t acknowledged() const;  // the last sequence number that was
  // Nothing was sent yet, and an earlier life of this relay sent messages up to this number. If the last of them was
  // its goodbye, the collector has everything, and what is pushed counts as acknowledged.
  void continue_after(std::uint64_t sequence, bool said_goodbye = false);
  void interrupt();  // the connection is lost, or the relay stops: nobody asks for events to be held any more
  void resume();

 private:
  struct Entry {
    std::shared_ptr<v1::RelayMessage> message;  // null: it is in the spool
    Spool::Place place;
    std::uint64_t sequence = 0, bytes = 0;
    std::vector<Receipt> receipts;
  };
  absl::Status spool(Entry& entry);
  absl::Status spool_all();
  void let_go_of_first();
  Message message_of(const Entry& entry);
  const std::uint64_t most_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> entries_;  // not yet acknowledged, in order
  std::size_t sent_ = 0;       // the number of entries sent over the present connection
  std::deque<Message> introductions_;
  bool introductions_wanted_ = false, interrupted_ = false;
  bool asked_ = false, watched_ = false, holds_events_ = false;
  bool over_ = false;  // the collector has everything
  std::uint64_t last_sequence_ = 0, bytes_ = 0, in_memory_ = 0;
  std::uint64_t last_sent_ = 0;  // over any connection
  std::unique_ptr<Spool> spool_;
  absl::Status spool_failed_;
  absl::StatusOr<std::string> rest_of_spool_ = "";
  std::vector<Receipt> acknowledged_;
  std::map<std::string, std::string> rejections_;
};

}  // namespace castscope::relay
