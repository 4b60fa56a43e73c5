// One run that the collector knows, and how far each relay's batches of it are kept. This code knows nothing of gRPC.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/castscope/v1/castscope.pb.h"
#include "server/ingest/run/run_keeper.h"
#include "server/ingest/validation/validator.h"

namespace castscope::ingest {

// All calls of the run's sink are made under its mutex. A run stays in the table for a while after its end, so that a
// relay whose last acknowledgement was lost learns that all is well. After that the run's file knows it.
class Run {
 public:
  using Clock = std::chrono::steady_clock;
  Run(RunOpening opening, const RunKeeper* keeper);

  // One stream of a relay; attach() numbers it. A relay has one at a time: whoever begins another, such as the relay's
  // next life, ends the one before, of which nothing is taken any more.
  struct Stream {
    std::string relay;
    std::uint64_t number = 0;
  };

  struct Reply {
    // Not "": a sentence that says why this message may not come now. Nothing of it was taken, the stream is to end.
    std::string out_of_order;
    std::uint64_t durable = 0;  // durable batches of this relay
    bool send = false;          // the reply contains something
    bool watched = false;       // somebody watches the run while it goes on
    bool said_goodbye = false;  // the relay has
    bool hold_events = false;   // a quota wants none for now
    std::vector<v1::Rejection> rejections;
    std::chrono::milliseconds pause{0};  // until the next message is read: a quota
  };

  // How long a run stays open for further relays after its last one said goodbye. What is finished longer stays as it
  // is.
  static constexpr std::chrono::minutes kMayGoOn{2};

  // Begins a relay's stream for the run as its hello describes it; `reply` says how far the relay's messages were
  // taken, and that is durable. `acknowledged` is the last number that a collector acknowledged to it, an earlier life
  // of this one perhaps; nothing = the relay is too old to say. Here and below, an error says that the run cannot be
  // kept now. Nothing that was not committed counts as taken then: each relay of the run begins its stream anew, and
  // sends again what was not acknowledged to it.
  absl::Status attach(const RunOpening& opening, Stream* stream, std::optional<std::uint64_t> acknowledged,
                      Reply* reply, Clock::time_point now = Clock::now());
  // The stream has ended, with a goodbye or without. The relay may come back.
  void detach(const Stream& stream, Clock::time_point now);
  // `gone`: whether the relay has gone meanwhile. It is asked once the calls before this one are done, and nothing is
  // taken of a relay that has. An empty function is not asked.
  absl::Status apply(const Stream& stream, const v1::Batch& batch, Reply* reply,
                     const std::function<bool()>& gone = {});
  absl::Status goodbye(const Stream& stream, const v1::Goodbye& goodbye, Reply* reply);
  // For a relay that has nothing to send: what it has sent is durable before the answer.
  absl::Status ask(const Stream& stream, Reply* reply);
  // A message of the relay was refused for what it is, whatever its number: the file says so.
  void refused(const std::string& relay, const std::string& sentence);
  // Closes the run if there is nobody to wait for: every relay is done, or has been away for `patience` (it was killed,
  // or its machine is gone). A relay that comes back later opens the run again. It waits for no other call: a run
  // that is being worked for is not abandoned.
  void close_abandoned(Clock::time_point now, Clock::duration patience);
  // Opens a run that an earlier collector left open, and closes it if its relays had all said goodbye.
  absl::Status take_up();
  // At the collector's end, in this order: commits what was taken, and closes the run.
  void commit_what_came();
  void shutdown();
  // Whether its file knows all that is to be known of the run: it is closed, and its relays went some time ago.
  bool can_be_forgotten(Clock::time_point now);

 private:
  struct Relay {
    std::uint64_t applied = 0, durable = 0;
    bool numbered = false;                           // `applied` is known: the next number is the one after it
    store::RelayState said;                          // what the file says of it, and what it said by its goodbye
    bool done() const { return said.said_goodbye; }  // its last message was the goodbye
    bool late = false;                               // the run was told that something came after the goodbye
    std::string gap;  // a sentence while something did not come that a later number shows to be missing
    int streams = 0;
    std::uint64_t stream = 0;  // the number of its last one
    std::uint64_t life = 0;    // of the run, when that began
    Clock::time_point left{};  // when a stream of it last ended
    std::vector<v1::Rejection> rejections;
    std::size_t rejections_told = 0;  // the number sent in the present stream
  };
  template <typename Act>
  absl::Status with_memory(Act act);
  template <typename Act>
  absl::Status with_lock_and_memory(Act act);
  absl::Status let_in(const RunOpening& opening, Stream* stream, std::optional<std::uint64_t> acknowledged,
                      Reply* reply, Clock::time_point now);
  absl::Status take_batch(const Stream& stream, const v1::Batch& batch, Reply* reply);
  absl::Status take_goodbye(const Stream& stream, const v1::Goodbye& goodbye, Reply* reply);
  void close_if_over(Clock::time_point now, Clock::duration patience);
  absl::Status ensure_open();
  absl::Status commit();
  absl::Status give_up(const absl::Status& why);
  absl::Status still_current(const Relay& relay, const Stream& stream) const;
  absl::Status may_send(const RunOpening& opening, const std::string& relay, Clock::time_point now);
  absl::Status still_open(const std::string& relay, Clock::time_point now);
  absl::Status take(Relay& relay, const v1::Batch& batch, Reply* reply);
  EventsWanted events_wanted() const;
  absl::Status note_quota(const EventsWanted& wanted);
  // Whether this number is the next one; if not, `reply` says so.
  bool is_due(const std::string& id, Relay& relay, std::uint64_t sequence, Reply* reply) const;
  void refuse_after_goodbye(const std::string& id, Relay& relay, const v1::Batch& batch, Reply* reply);
  void tell_refused(const std::string& sentence);
  void remember(const store::EarlierLife&);
  absl::Status note_relay(const std::string& id, Relay* relay);
  absl::Status believe(const std::string& id, std::uint64_t acknowledged, Relay* relay);
  bool is_of_another_run(const std::string& id, const v1::Batch& batch, Reply* reply);
  absl::Status take_ending(const std::string& id, const v1::Goodbye& goodbye, store::RelayState* said);
  void note_news();
  // Messages were not taken, and the run is not complete for it.
  absl::Status note_missing(const std::string& sentence);
  bool all_done() const;
  void tell_gaps();
  void close(bool farewell);
  absl::Status answer(Relay& relay, Reply* reply);
  absl::Status tell_hold(const Relay& relay, Reply* reply);

  RunOpening opening_;  // of the first hello, once the run was opened; the sender is the latest one
  const RunKeeper* const keeper_;
  std::mutex mutex_;
  std::shared_ptr<store::RunSink> sink_;  // null: the run is not open
  RunValidator validator_;
  std::map<std::string, Relay> relays_;
  RunClosing closing_;
  bool remembered_ = false;                    // what the file tells of its senders is known
  std::string quota_told_;                     // the sentence of the quota that the file has
  bool news_ = false;                          // something was taken since the run was opened
  bool opened_ = false;                        // at least once
  std::optional<Clock::time_point> finished_;  // since then: all its relays have said goodbye
  bool given_up_ = false;                      // its sink failed, and it was not closed since
  std::uint64_t life_ = 1;                     // grows each time a sink is given up
  std::uint64_t uncommitted_ = 0;              // bytes
};

}  // namespace castscope::ingest
