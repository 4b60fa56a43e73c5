// Brings the segments of a run directory to a collector: watches the directory, drains every segment, makes batches,
// streams them, keeps what is not acknowledged and sends it again after a reconnect.
//
//   drain thread:  directory → SegmentSource (one per segment) → Outbox
//   uplink thread: Outbox → gRPC → collector; acknowledgements → Outbox → SegmentSource (frees the ring)
//
// Back-pressure: when the outbox is full nothing more is taken from the rings; the traced process then drops events and
// counts them. Counters are absolute and lose nothing by waiting.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/relay/options.h"
#include "server/relay/summary.h"

namespace castscope::relay {

// How the run ended, for the collector's files; stop() sends it.
struct Farewell {
  int exit_status = -1;  // -1 = not known
  int signal = 0;        // the signal that ended the command; 0 = none
  // Where nobody waited for the command, its end is that of this process, as far as the process's record tells; 0 = of
  // none.
  std::int64_t ends_with = 0;
  std::vector<std::string> notices = {};
  std::uint32_t still_running = 0;  // processes of the job that go on unrecorded
  // Sentences of processes that something of them was not recorded.
  std::vector<std::string> unrecorded = {};
  std::uint32_t expected_ranks = 0, seen_ranks = 0;  // of this machine; 0 = none told of itself
};

// Makes an id for a relay's sequence numbers: no two relays of a run have the same.
std::string fresh_relay_id();

class Relay {
 public:
  explicit Relay(Options options);
  ~Relay();  // stops without a farewell when stop() was not called

  // Starts the two threads. Fails only when the directory is there and cannot be read; one that was removed is missed
  // at the end, and an unreachable collector is tried again until stop().
  absl::Status start();

  // The job's first process has ended: its parent knows how, while its segment may not.
  void job_ended(int exit_status, int signal);

  // Returns true when every process that has a segment is gone and read to its end.
  bool quiet() const;
  // Waits until quiet() is true, or the time is over; returns quiet().
  bool wait_until_quiet(std::chrono::milliseconds at_most);

  // Drains for the last time, sends the farewell, and then waits at most `deadline` for the acknowledgement. Processes
  // that still run are reported as kRunning and read up to this moment.
  Summary stop(const Farewell& farewell, std::chrono::milliseconds deadline);

  Progress progress() const;
  // Returns "" while all is well, and otherwise what is wrong with the connection to the collector ("no connection to
  // …", a refusal).
  std::string trouble() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace castscope::relay
