// The runs that the collector knows.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "server/ingest/run/run.h"

namespace castscope::ingest {

class RunTable {
 public:
  explicit RunTable(RunKeeper keeper) : keeper_(std::move(keeper)) {}
  std::shared_ptr<Run> find_or_add(RunOpening opening);
  // Goes on with a run that an earlier collector left open. If it cannot be opened now, the next relay that comes for
  // it tries again.
  void take_up(RunOpening opening);
  // Closes such runs, and forgets those that ended some time ago.
  void close_abandoned(Run::Clock::time_point now, Run::Clock::duration patience);
  std::size_t size() const;
  void shutdown();

 private:
  const RunKeeper keeper_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Run>> runs_;
};

// Refuses a hello that is too long to be looked at.
absl::Status check_size(const v1::Hello& hello);

// Makes the opening of a run from a relay's hello, or returns a sentence about what is wrong with the hello.
absl::StatusOr<RunOpening> check_hello(const v1::Hello& hello);

}  // namespace castscope::ingest
