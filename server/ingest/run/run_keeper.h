// Keeps the runs that relays bring, with what is known about a run when it begins and when it ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/store/run/run_sink.h"

namespace castscope::ingest {

// A run as its first relay introduced it. Texts are checked: valid UTF-8, bounded; `id` is [A-Za-z0-9._-]{1,128} and
// not "." or "..", so that it may be part of a file name. `name` is any text, and must not become a path unchecked.
struct RunOpening {
  std::string id = {}, name = {};
  std::vector<std::string> command = {};
  std::string cwd = {}, host = {};
  std::int64_t begin_realtime_ns = 0;
  std::string castscope_version = {};
  std::string checkout = {};
  std::string owner = {};   // the digest of the run's key; "" = it has none
  std::string sender = {};  // whose token the latest relay gave; "" = no token was asked for, or none has come yet
  std::string token = {};   // the digest of that token
  bool no_source = false;   // no line of its source is to be read
};

struct RunClosing {
  // False: not every relay of the run has said that it is done; either the server was shut down before, or a relay
  // never came back.
  bool farewell = false;
  bool nothing_new = false;  // since it was opened: a relay that comes back after the end asks for what it missed
  int exit_status = -1;      // from the relay; -1 = not known
  int signal = 0;
  // A sentence where a relay left processes running, or did not say goodbye; "" = the relays saw the job end.
  std::string unseen = {};
};

// What quotas let in of a run at the moment. Counts are always taken.
struct EventsWanted {
  enum class How {
    kAll,
    kHold,  // the relay is to send none for now: what its processes have no room for they drop, and count
    kNone,  // what comes all the same is not taken, and is missing from the run
  };
  How how = How::kAll;
  std::string why = {};                     // a sentence for the run's report; "" for kAll
  std::uint64_t most_definition_bytes = 0;  // of the run; 0 = no bound of a quota
};

// What was taken of one message.
struct Taken {
  std::uint64_t bytes = 0, events = 0;
  std::uint64_t events_dropped = 0;  // that processes dropped since the last message
};

// The error for a sender who does not know the run's key.
absl::Status another_senders(const std::string& run_id);

// Keeps runs. Calls for one run never overlap; calls for different runs may, including open() and close().
struct RunKeeper {
  // Called when a run first appears, and again when a relay comes back to a closed run, or to one whose sink was given
  // up. Of an error that passes the relay is told, and tries again. UNAUTHENTICATED means that the run is another
  // sender's.
  std::function<absl::StatusOr<std::shared_ptr<store::RunSink>>(const RunOpening&)> open;
  // A relay was let in to a run that had been opened before, perhaps by an earlier collector, who knew another token:
  // `sender` and `token` are those of this relay now. Called before anything is taken of it. An empty function is not
  // called.
  std::function<void(const RunOpening&)> let_in = {};
  // Something was taken, for the first time since open(): if the run had ended before, it goes on. An empty function is
  // not called.
  std::function<void(const std::string& run_id)> goes_on = {};
  // The sink has failed. The run is not over: before the sink is called again, open() is. An empty function is not
  // called.
  std::function<void(const std::string& run_id, const absl::Status& why)> give_up = {};
  // Everything is committed; the sink will not be called any more.
  std::function<void(const std::string& run_id, const RunClosing&)> close;
  // Whether somebody watches the run while it goes on: its relays then send events soon. It is called with each answer
  // to a relay, several times a second, so it should be quick, and must not wait for another call about this run. An
  // empty function means that nobody watches.
  std::function<bool(const std::string& run_id)> watched = {};
  // Asked before each message, as watched() is. An empty function wants all.
  std::function<EventsWanted(const std::string& run_id)> events_wanted = {};
  // Called after each message, as watched() is; returns how long the collector should wait before it reads on. An empty
  // function is not called.
  std::function<std::chrono::milliseconds(const std::string& run_id, const Taken&)> taken = {};
};

}  // namespace castscope::ingest
