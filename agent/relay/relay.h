// The way from the segments of a run directory to a collector: watches the directory, drains every segment, makes
// batches, streams them, keeps what is not acknowledged and sends it again after a reconnect.
//
//   drain thread:  directory → SegmentSource (one per segment) → Outbox
//   uplink thread: Outbox → gRPC → collector; acknowledgements → Outbox → SegmentSource (frees the ring)
//
// Back-pressure: when the outbox is full nothing more is taken from the rings; the traced process then drops events
// and counts them. Counters are absolute and lose nothing by waiting.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace grpc {
class Channel;
}

namespace castscope::relay {

// What the collector is told of the run as a whole when the relay introduces itself.
struct RunInfo {
  std::string id = {};    // the same for every relay of the run
  std::string name = {};  // wished-for name of the run file, "" = the collector chooses
  std::vector<std::string> command = {};
  std::string cwd = {};
  std::string host = {};  // "" = gethostname
  std::int64_t begin_realtime_ns = 0;
  std::string castscope_version = {};
  std::string checkout = {};  // the folder at or above cwd that version control knows, "" = none
};

struct Options {
  std::string run_directory;
  RunInfo run;
  std::string token = {};                  // "" = none
  std::shared_ptr<grpc::Channel> channel;  // from connect(), or ingest::Server::in_process_channel()
  std::uint64_t max_unacknowledged_bytes = 32ull << 20;
  std::chrono::milliseconds flush_interval{250};
  // Events wait this long for company, since a block of 75 takes twice the bytes an event of one of 4096. They wait in
  // the ring as well, where they outlive this process.
  std::chrono::milliseconds event_interval{1000};
  // … and so long while somebody watches the run, as the collector's answers tell; then they are sent at once.
  std::chrono::milliseconds watched_event_interval{25};
  // Of the time that stop() has: until a collector must have answered at all, and until it must have answered again.
  std::chrono::milliseconds patience_for_first_answer = std::chrono::hours(1);
  std::chrono::milliseconds patience_for_next_answer = std::chrono::hours(1);
  std::chrono::milliseconds longest_nap{20};  // between two looks at the rings when nothing happens
  // A segment whose process is gone and whose last batch is acknowledged is of no more use.
  bool remove_finished_segments = true;
  // A child of ours: how it ended is told by job_ended(), and not before.
  std::int64_t job_pid = 0;
  std::uint64_t job_start_ticks = 0;
};

enum class ProcessEnd : std::uint8_t { kRunning = 0, kExited = 1, kReplaced = 2, kVanished = 3 };

struct ProcessSummary {
  std::string key;  // "host/pid/start_ticks/n"
  std::int64_t pid = 0;
  ProcessEnd end = ProcessEnd::kRunning;
  int exit_status = -1;            // as its parent sees it, 128 + the signal that killed it; -1 = not known
  std::uint64_t written = 0;       // events published by the process
  std::uint64_t dropped = 0;       // events it had to drop: its rings were full
  std::uint64_t acknowledged = 0;  // events the collector has made durable for this relay
  std::string problem;             // a sentence when something of it could not be read or was not accepted
};

struct Summary {
  std::vector<ProcessSummary> processes;
  bool delivered = false;  // everything read was acknowledged
  std::string problem;     // when not: a sentence that says why
};

struct Progress {
  std::uint32_t processes = 0, running = 0;
  std::uint64_t casts = 0, hits = 0, events = 0, dropped = 0, unacknowledged_bytes = 0;
};

// How the run ended, for the collector's files; sent by stop().
struct Farewell {
  int exit_status = -1;  // -1 = not known
  int signal = 0;        // that ended the command; 0 = none
  std::vector<std::string> notices = {};
  std::uint32_t still_running = 0;  // processes of the job that go on unrecorded
};

class Relay {
 public:
  explicit Relay(Options options);
  ~Relay();  // stops without a farewell when stop() was not called

  // Starts the two threads. Fails only when the directory cannot be read; an unreachable collector is tried again
  // until stop().
  absl::Status start();

  // The job's first process has ended: its parent knows how, which its segment may not tell.
  void job_ended(int exit_status, int signal);

  // True when every process that has a segment is gone and read to its end.
  bool quiet() const;
  // Waits until quiet() holds, or the time is over; returns quiet().
  bool wait_until_quiet(std::chrono::milliseconds at_most);

  // A last complete drain, the farewell, and a wait of at most `deadline` for the acknowledgement. Processes that
  // still run are reported as kRunning and read up to this moment.
  Summary stop(const Farewell& farewell, std::chrono::milliseconds deadline);

  Progress progress() const;
  // "" while all is well; else what is wrong with the way to the collector now ("no connection to …", a refusal).
  std::string trouble() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

struct Tls {
  bool use = false;
  std::string root_certificate_file = {};  // "" = the system's
};

// A channel to "host:port" or "unix:PATH". Does not wait for the connection. Fails for an address that cannot be one
// or a certificate file that cannot be read.
absl::StatusOr<std::shared_ptr<grpc::Channel>> connect(const std::string& address, const Tls& tls = {});

}  // namespace castscope::relay
