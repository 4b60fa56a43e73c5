// Keeps the runs of each sender within its quotas. What is beyond them costs single events, which processes drop and
// count, or which are missing from the run with a sentence; no count is ever lost. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "server/admission/tokens.h"
#include "server/ingest/run/run_keeper.h"

namespace castscope::cli {

class QuotaKeeper {
 public:
  using Clock = std::chrono::steady_clock;
  // `usual` are those of senders whose token has none of its own. `bytes_of` returns how large a run's file is.
  QuotaKeeper(admission::Quotas usual, std::function<std::uint64_t(const std::string& run_id)> bytes_of);

  // The collector's tokens are these now: their quotas hold for open runs, too, from this moment on. A run whose token
  // is gone keeps its quotas until a relay comes with another one.
  void change(admission::Tokens tokens, Clock::time_point now = Clock::now());
  void opened(const ingest::RunOpening& run);
  // A relay came for an open run, perhaps with another token than the one before.
  void let_in(const ingest::RunOpening& run);
  void closed(const std::string& run_id);
  ingest::EventsWanted wanted(const std::string& run_id, Clock::time_point now = Clock::now());
  // Returns how long the collector should wait before it reads on: events that come all the same, from a sender that
  // was away, come as fast as its quota says.
  std::chrono::milliseconds taken(const std::string& run_id, const ingest::Taken& taken,
                                  Clock::time_point now = Clock::now());

 private:
  struct Sender {
    std::vector<std::string> open_runs = {};  // that send events, the longest first
    double events_left = 0;                   // what may come now; below 0, too much came
    Clock::time_point filled_at{};
  };
  struct Run {
    std::string sender = {}, token = {};
    admission::Quotas quotas = {};
    std::uint64_t bytes = 0;  // when it was last asked
    Clock::time_point asked_at{};
  };
  ingest::EventsWanted events_of(const std::string& run_id, Run& run, Clock::time_point now);
  void belongs_to(const ingest::RunOpening& opening, Run& run);
  void leave(const std::string& run_id, const Run& run);
  // Returns the quotas of this token, or `otherwise` where there is no such token.
  admission::Quotas quotas_of(const std::string& token, const admission::Quotas& otherwise) const;
  static bool has_place(const std::string& run_id, Sender& sender, std::uint64_t places);
  static void change_rate(Sender& sender, const admission::Quotas& from, const admission::Quotas& to,
                          Clock::time_point now);
  static void fill(Sender& sender, const admission::Quotas& quotas, Clock::time_point now);
  void look_at_file(const std::string& run_id, Run& run, Clock::time_point now) const;

  const admission::Quotas usual_;
  const std::function<std::uint64_t(const std::string& run_id)> bytes_of_;
  std::mutex mutex_;
  admission::Tokens tokens_;
  std::map<std::string, Sender> senders_;
  std::map<std::string, Run> runs_;
};

}  // namespace castscope::cli
