// The options of a relay: whose segments it reads, where it sends them, how long it waits for what.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/redaction/redaction.h"
#include "server/relay/sending/spool.h"

namespace grpc {
class Channel;
}

namespace castscope::relay {

class MadeDirectory;
class Roll;

// Facts about the run as a whole that the relay sends to the collector when it introduces itself.
struct RunInfo {
  std::string id = {};    // the same for every relay of the run
  std::string name = {};  // the desired name of the run file; "" = the collector chooses
  std::vector<std::string> command = {};
  std::string cwd = {};
  std::string host = {};  // "" = gethostname
  std::int64_t begin_realtime_ns = 0;
  std::string castscope_version = {};
  std::string checkout = {};  // the folder at or above cwd that is under version control; "" = none
  std::string key = {};       // a secret that all relays of the run share; "" = none
  bool no_source = false;     // whoever keeps the run is to read no line of its source
};

struct Options {
  std::string run_directory;
  RunInfo run;
  // Everything that the relay sends goes through it, and so does what waits in the spool. Null: nothing is redacted.
  std::shared_ptr<redaction::Redaction> redaction = {};
  std::string token = {};  // "" = none
  // Reads the token again, which may have been replaced since: asked at each connection, from a thread of the relay's.
  // "" = it cannot be read now, and the last one is sent. Empty: the token stays what it is.
  std::function<std::string()> read_token = {};
  std::shared_ptr<grpc::Channel> channel;  // from connect(), or ingest::Server::in_process_channel()
  std::uint64_t max_unacknowledged_bytes = 32ull << 20;
  std::chrono::milliseconds flush_interval{250};
  // Events wait this long for more, since a block of 75 takes twice the bytes per event of a block of 4096. They stay
  // in the ring meanwhile, which outlives this process.
  std::chrono::milliseconds event_interval{1000};
  // The wait while somebody watches the run, as the collector's answers say; then events are sent soon.
  std::chrono::milliseconds watched_event_interval{25};
  // These bound the wait in stop(): until the collector must have answered at all, and until it must have answered
  // again.
  std::chrono::milliseconds patience_for_first_answer = std::chrono::hours(1);
  std::chrono::milliseconds patience_for_next_answer = std::chrono::hours(1);
  // The same where the collector has answered, and the connection is lost now or the collector cannot keep the run now.
  std::chrono::milliseconds patience_in_trouble{5000};
  // While the job runs: how long a collector may acknowledge nothing of what waits for it, or not answer the hello,
  // until the connection is ended and tried again; and how long it may want no events until the user is told.
  std::chrono::milliseconds patience_for_silence{60'000};
  std::chrono::milliseconds longest_nap{20};  // the longest pause between two looks at the rings when nothing happens
  // A segment is no longer needed when its process is gone and its last batch is acknowledged.
  bool remove_finished_segments = true;
  // Called when there is no room in memory for what the collector does not take, and at the end for what it did not
  // take: makes the file for it, or says why there is none. Empty: there is no spool.
  std::function<absl::StatusOr<std::unique_ptr<Spool>>(const v1::Hello& hello)> make_spool = {};
  std::chrono::milliseconds spool_interval{10'000};  // after one that found no room: until the next try
  std::string relay = {};                            // this relay's id; "" = a new one
  bool goes_on = false;  // a relay with this id sent some of the run before, and did not say goodbye
  // The directory as it was made, and the roll of the job (agent/lanes/roll.h). Null: the directory is the one that is
  // there at the start, and there is no roll.
  std::shared_ptr<MadeDirectory> made = {};
  std::shared_ptr<Roll> roll = {};
  std::string secret = {};  // that the job's processes know, and no other user (agent/lanes/outside.h); "" = none
  std::chrono::milliseconds directory_interval{30'000};  // how often the relay looks whether the directory is there
  std::function<void(const std::string& sentence)> say = {};  // for what the user should hear while the job runs
  // Gets all that the relay knows to be missing from the run, each time when that is more: whoever reads what is left
  // of the run without this relay would not know it. Called from a thread of the relay's.
  std::function<void(const std::vector<std::string>& sentences)> keep_missing = {};
  // Our child: its end is reported after job_ended() was called, and not before.
  std::int64_t job_pid = 0;
  std::uint64_t job_start_ticks = 0;
};

}  // namespace castscope::relay
