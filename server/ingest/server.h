// The collector's ear: takes the streams of relays, has every message checked by the one validator (validator.h) and
// hands what it says to the run's sink. `castscope serve` listens with it, `castscope run` uses the same code through
// an in-process channel.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/run_sink.h"

namespace grpc {
class Channel;
}

namespace castscope::ingest {

// A run as its first relay introduced it. Texts are checked: valid UTF-8, bounded; `id` is [A-Za-z0-9._-]{1,128} and
// not "." or "..", so that it may be part of a file name. `name` is any text: make no path of it unseen.
struct RunOpening {
  std::string id = {}, name = {};
  std::vector<std::string> command = {};
  std::string cwd = {}, host = {};
  std::int64_t begin_realtime_ns = 0;
  std::string castscope_version = {};
  std::string checkout = {};
};

struct RunClosing {
  // False: not every relay of the run has said that it is done: the server was shut down before, or one stayed away.
  bool farewell = false;
  int exit_status = -1;  // as the relay said; -1 = not known
  int signal = 0;
  std::uint32_t still_running = 0;  // processes that the relays left behind
  std::vector<std::string> notices;
};

// Where runs are kept. Calls for one run never overlap; calls for different runs may, open() and close() too.
struct RunKeeper {
  // Called when a run is first heard of, and again when a relay comes back to a run that was closed. An error is told
  // to the relay as it stands.
  std::function<absl::StatusOr<std::shared_ptr<store::RunSink>>(const RunOpening&)> open;
  // Everything is committed; the sink is not called any more.
  std::function<void(const std::string& run_id, const RunClosing&)> close;
  // Whether somebody looks at the run as it goes on: its relays then send events soon. Asked with each answer to a
  // relay, several times a second, so it should be quick, and must not wait for a call of this run. None: nobody does.
  std::function<bool(const std::string& run_id)> watched = {};
};

struct Options {
  // "" = do not listen (in_process_channel only); else "host:port" (port 0 = any free one), "[::1]:port", "unix:PATH".
  std::string address = {};
  std::string token = {};             // "" = none is asked for
  std::string certificate_file = {};  // PEM; with key_file: TLS
  std::string key_file = {};
  std::chrono::milliseconds hello_deadline{10'000};  // a peer that says nothing until then is let go
};

class Server {
 public:
  // Refuses an address that is not loopback (or a Unix socket) unless certificate, key and token are all given.
  static absl::StatusOr<std::unique_ptr<Server>> start(const Options& options, RunKeeper keeper);
  ~Server();

  std::shared_ptr<grpc::Channel> in_process_channel();
  // Where it listens, with the real port; "" when it does not.
  const std::string& address() const;
  // Closes runs whose relays are all done, or have been away for `patience`: a killed relay says no goodbye. To be
  // called now and then.
  void close_abandoned(std::chrono::milliseconds patience);
  // Ends all streams, commits, closes open runs.
  void shutdown(std::chrono::milliseconds grace);

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace castscope::ingest
