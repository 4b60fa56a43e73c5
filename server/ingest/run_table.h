// The runs that the collector has heard of, and how far each relay's batches are kept. Knows nothing of gRPC.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/castscope/v1/castscope.pb.h"
#include "server/ingest/run_keeper.h"
#include "server/ingest/validator.h"

namespace castscope::ingest {

// One run. All calls of its sink are made under its mutex. It stays in the table after its end, so that a relay whose
// last acknowledgement was lost learns that all is well.
class Run {
 public:
  using Clock = std::chrono::steady_clock;
  Run(RunOpening opening, const RunKeeper* keeper) : opening_(std::move(opening)), keeper_(keeper) {}

  struct Reply {
    std::uint64_t durable = 0;  // of this relay
    bool send = false;          // there is something to say
    bool watched = false;       // somebody looks at the run as it goes on
    std::vector<v1::Rejection> rejections;
  };

  // A relay begins a stream; `reply` tells what is durable of it already. An error is the sink's: the run cannot be
  // kept, here and below.
  absl::Status attach(const std::string& relay, Reply* reply);
  // Its stream ended, with a goodbye or without. It may come back.
  void detach(const std::string& relay, Clock::time_point now);
  absl::Status apply(const std::string& relay, const v1::Batch& batch, Reply* reply);
  absl::Status goodbye(const std::string& relay, const v1::Goodbye& goodbye, Reply* reply);
  void ask(const std::string& relay, Reply* reply);  // a relay that has nothing to say
  // Closes the run when nobody is left to wait for: every relay is done, or has been away for `patience` (killed, or
  // its machine is gone). One that comes back all the same opens it again.
  void close_abandoned(Clock::time_point now, Clock::duration patience);
  void shutdown();

 private:
  struct Relay {
    std::uint64_t applied = 0, durable = 0;
    bool done = false;
    int streams = 0;
    Clock::time_point left{};  // when its last stream ended
    std::vector<v1::Rejection> rejections;
    std::size_t rejections_told = 0;  // in the present stream
  };
  absl::Status ensure_open();
  absl::Status commit();
  void close(bool farewell);
  void answer(Relay& relay, Reply* reply) const;

  const RunOpening opening_;
  const RunKeeper* const keeper_;
  std::mutex mutex_;
  std::shared_ptr<store::RunSink> sink_;  // null: not open
  RunValidator validator_;
  std::map<std::string, Relay> relays_;
  RunClosing closing_;
  std::uint64_t uncommitted_ = 0;  // bytes
  absl::Status failed_;            // once the sink has failed, it is not called again
};

class RunTable {
 public:
  explicit RunTable(RunKeeper keeper) : keeper_(std::move(keeper)) {}
  std::shared_ptr<Run> find_or_add(RunOpening opening);
  void close_abandoned(Run::Clock::time_point now, Run::Clock::duration patience);
  void shutdown();

 private:
  const RunKeeper keeper_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Run>> runs_;
};

// The opening of a run from a relay's hello, or a sentence about what is wrong with it.
absl::StatusOr<RunOpening> check_hello(const v1::Hello& hello);

}  // namespace castscope::ingest
