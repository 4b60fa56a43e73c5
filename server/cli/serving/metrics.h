// What a collector counts of itself, in Prometheus' text form. The totals tell of no single run. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "server/ingest/run/run_keeper.h"
#include "server/store/run/run_data.h"

namespace castscope::cli {

class Metrics {
 public:
  std::atomic<std::uint64_t> runs_begun = 0, runs_finished = 0, runs_lost = 0, runs_removed = 0;
  std::atomic<std::uint64_t> streams_refused = 0, wrong_tokens = 0, troubles = 0;

  void taken(const ingest::Taken& taken);
  // Of a run that has ended.
  void found(const std::vector<store::Finding>& findings);

  // What is asked for at the moment of a scrape.
  struct Now {
    std::uint64_t open_runs = 0, open_streams = 0;
    std::map<std::string, std::uint64_t> backlog_bytes = {};  // by sender
    std::uint64_t free_bytes = 0;
    std::string version = {};
  };
  std::string text(const Now& now) const;

 private:
  std::atomic<std::uint64_t> messages_ = 0, bytes_ = 0, events_ = 0, events_dropped_ = 0;
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> findings_;  // by rule and severity
};

}  // namespace castscope::cli
