// The collector's server: takes the streams of relays, has every message checked by the one validator (validator.h) and
// hands the contents to the run's sink. `castscope serve` listens with it; `castscope run` uses the same code through
// an in-process channel.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/ingest/listening/options.h"
#include "server/ingest/run/run_keeper.h"

namespace grpc {
class Channel;
}

namespace castscope::ingest {

class Server {
 public:
  // Refuses an address that is not loopback (or a Unix socket) unless certificate, key and token are all given.
  static absl::StatusOr<std::unique_ptr<Server>> start(const Options& options, RunKeeper keeper);
  ~Server();

  std::shared_ptr<grpc::Channel> in_process_channel();
  // The address that it listens on, with the real port; "" when it does not listen.
  const std::string& address() const;
  // Closes runs whose relays are all done, or have been away for `patience`: a killed relay sends no goodbye. It should
  // be called now and then.
  void close_abandoned(std::chrono::milliseconds patience);
  // Goes on with a run that an earlier collector left open: its relays may come back, and if they do not,
  // close_abandoned() closes it.
  void take_up(RunOpening opening);
  // Ends the streams of those whose token is not taken any more. It should be called when the tokens have changed, and
  // now and then.
  void end_unwelcome();
  // Ends all streams, commits, closes open runs.
  void shutdown(std::chrono::milliseconds grace);

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace castscope::ingest
