// All segments of a run directory: finds them, drains them, reports the ends of their processes, and removes segments
// that are no longer needed. Only the drain thread uses it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "server/relay/options.h"
#include "server/relay/process.h"
#include "server/relay/roll_call.h"
#include "server/relay/segment_source.h"
#include "server/relay/sending/outbox.h"
#include "server/relay/summary.h"

namespace castscope::relay {

class Drainer {
 public:
  using Clock = std::chrono::steady_clock;
  // Keys of processes begin with `key`.
  Drainer(const Options& options, std::string host, std::string key, Outbox* outbox)
      : directory_(options.run_directory),
        host_(std::move(host)),
        key_(std::move(key)),
        redaction_(options.redaction),
        remove_(options.remove_finished_segments),
        event_interval_(options.event_interval),
        job_pid_(options.job_pid),
        job_start_ticks_(options.job_start_ticks),
        roll_call_(directory_, options.made, options.roll, key_, options.secret, options.directory_interval,
                   {.say = options.say, .keep_missing = options.keep_missing}),
        outbox_(outbox) {}

  // Called by any thread: says how our child ended. The end of its segment is reported only after this.
  void job_ended(int exit_status, int signal) {
    job_exit_status_.store(exit_status, std::memory_order_relaxed);
    job_signal_.store(signal, std::memory_order_relaxed);
    job_ended_.store(true, std::memory_order_release);
  }

  // Finds new segments, and hears the roll.
  void find_segments(Clock::time_point now);
  // A few events wait this long for more.
  void wait_for_company(Clock::duration event_interval);
  // `take_events` false: events stay in their rings, and what finds no room there is dropped and counted.
  SegmentSource::Drained drain(Clock::time_point now, bool take_events = true);
  // Pushes batches of the taken events. `whole`: pushes everything that is new in every segment, and requests an
  // answer.
  void flush(bool whole, Clock::time_point now);
  // Reports the end of every process that is gone, after reading the rest of its segment. With `deliver` false the
  // collector refuses data, and the segment keeps what it has. Returns true when no process is left running.
  bool tell_ends(Clock::time_point now, bool deliver);
  // Called when the relay stops: reports the ends of all other processes, as far as they can be known.
  void tell_remaining_ends(bool deliver);
  // What is told again of the processes after a reconnect.
  std::vector<Outbox::Message> introductions();
  // Handles the collector's answers since the last call, then removes segments whose end is durable.
  void handle_answers();

  Progress progress();
  std::vector<ProcessSummary> summaries();
  // What never came; called once, after the last find_segments().
  std::vector<Missing> missing();

 private:
  struct Watched {
    std::unique_ptr<SegmentSource> source;
    std::string file;
    bool ended = false;         // its end was reported
    bool removable = false;     // its end is durable
    bool left_by_exec = false;  // the process went on as another program
    std::unique_ptr<EndWatch> end_watch;
    Clock::time_point next_look{}, next_look_at_maps{};
  };
  bool alive(const Watched& watched) const;
  bool is_job(const Watched& watched) const;
  bool replaced(const Watched& watched) const;
  void look_for_exec(Watched& watched, Clock::time_point now);
  void set_end(Watched& watched, bool still_running);
  void open_segment(const std::string& file, std::uint32_t number);
  void tell_end(Watched& watched, bool still_running, bool deliver);
  void push(std::vector<SegmentSource::Made> made);
  bool ask_for_flush();
  void remove_finished();

  const std::string directory_, host_, key_;
  const std::shared_ptr<redaction::Redaction> redaction_;
  const bool remove_;
  Clock::duration event_interval_;
  const std::int64_t job_pid_;
  const std::uint64_t job_start_ticks_;
  std::atomic<bool> job_ended_ = false;
  std::atomic<int> job_exit_status_ = -1, job_signal_ = 0;
  RollCall roll_call_;
  Outbox* const outbox_;
  std::map<std::uint64_t, Watched> watched_;  // by the number in receipts
  std::uint64_t next_source_ = 1;
  std::set<std::string> known_files_;
  std::map<std::string, std::string> unreadable_;  // file → reason
  std::vector<ProcessSummary> finished_;
  Progress finished_progress_;
  std::string unflushed_;  // the process of the last batch since the last request for a flush
  std::uint64_t events_ = 0;
};

}  // namespace castscope::relay
