// What a relay is told when it is made: whose segments it reads, where they go, how long it waits for what.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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

}  // namespace castscope::relay
