// Where the runs go that relays bring: what is told of a run when it begins and when it ends, and who keeps it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/store/run/run_sink.h"

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

}  // namespace castscope::ingest
