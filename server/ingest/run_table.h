// The runs that the collector knows, and how far each relay's batches are kept. This code knows nothing of gRPC.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/castscope/v1/castscope.pb.h"
#include "server/ingest/run_keeper.h"
#include "server/ingest/validator.h"

namespace castscope::ingest {

// One run. All calls of its sink are made under its mutex. A run stays in the table after its end, so that a relay
// whose last acknowledgement was lost learns that all is well.
class Run {
 public:
  using Clock = std::chrono::steady_clock;
  Run(RunOpening opening, const RunKeeper* keeper) : opening_(std::move(opening)), keeper_(keeper) {}

  struct Reply {
    // Not "": a sentence that says why this message may not come now. Nothing of it was taken, the stream is to end.
    std::string out_of_order;
    std::uint64_t durable = 0;  // durable batches of this relay
    bool send = false;          // the reply contains something
    bool watched = false;       // somebody watches the run while it goes on
    std::vector<v1::Rejection> rejections;
  };

  // Begins a relay's stream; `reply` says what is durable of the relay already. `acknowledged` is the last number that
  // a collector acknowledged to it, an earlier life of this one perhaps; nothing = the relay is too old to say. Here
  // and below, an error is the sink's: the run cannot be kept.
  absl::Status attach(const std::string& relay, std::optional<std::uint64_t> acknowledged, Reply* reply);
  // The relay's stream has ended, with a goodbye or without. The relay may come back.
  void detach(const std::string& relay, Clock::time_point now);
  absl::Status apply(const std::string& relay, const v1::Batch& batch, Reply* reply);
  absl::Status goodbye(const std::string& relay, const v1::Goodbye& goodbye, Reply* reply);
  void ask(const std::string& relay, Reply* reply);  // for a relay that has nothing to send
  // A message of the relay was refused for what it is, whatever its number: the file says so.
  void refused(const std::string& relay, const std::string& sentence);
  // Closes the run if there is nobody to wait for: every relay is done, or has been away for `patience` (it was killed,
  // or its machine is gone). A relay that comes back later opens the run again.
  void close_abandoned(Clock::time_point now, Clock::duration patience);
  // Opens a run that an earlier collector left open, and closes it if its relays had all said goodbye.
  absl::Status take_up();
  void shutdown();

 private:
  struct Relay {
    std::uint64_t applied = 0, durable = 0;
    bool numbered = false;                           // `applied` is known: the next number is the one after it
    store::RelayState said;                          // what the file says of it, and what it said by its goodbye
    bool done() const { return said.said_goodbye; }  // its last message was the goodbye
    bool late = false;                               // the run was told that something came after the goodbye
    std::string gap;  // a sentence while something did not come that a later number shows to be missing
    int streams = 0;
    Clock::time_point left{};  // when its last stream ended
    std::vector<v1::Rejection> rejections;
    std::size_t rejections_told = 0;  // the number sent in the present stream
  };
  absl::Status ensure_open();
  absl::Status commit();
  absl::Status take(Relay& relay, const v1::Batch& batch);
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
  void answer(Relay& relay, Reply* reply) const;

  const RunOpening opening_;
  const RunKeeper* const keeper_;
  std::mutex mutex_;
  std::shared_ptr<store::RunSink> sink_;  // null: the run is not open
  RunValidator validator_;
  std::map<std::string, Relay> relays_;
  RunClosing closing_;
  bool remembered_ = false;        // what an earlier collector wrote is known
  bool news_ = false;              // something was taken since the run was opened
  std::uint64_t uncommitted_ = 0;  // bytes
  absl::Status failed_;            // once the sink has failed, it is not called again
};

class RunTable {
 public:
  explicit RunTable(RunKeeper keeper) : keeper_(std::move(keeper)) {}
  std::shared_ptr<Run> find_or_add(RunOpening opening);
  // Goes on with a run that an earlier collector left open. If it cannot be opened now, the next relay that comes for
  // it tries again.
  void take_up(RunOpening opening);
  void close_abandoned(Run::Clock::time_point now, Run::Clock::duration patience);
  void shutdown();

 private:
  const RunKeeper keeper_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Run>> runs_;
};

// Makes the opening of a run from a relay's hello, or returns a sentence about what is wrong with the hello.
absl::StatusOr<RunOpening> check_hello(const v1::Hello& hello);

}  // namespace castscope::ingest
