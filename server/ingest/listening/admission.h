// Lets those calls in that carry the collector's token, before anything that they send is read. Wrong tokens are
// answered slowly, and told.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "absl/status/status.h"

namespace castscope::ingest {

class Admission {
 public:
  static constexpr char kKey[] = "authorization";  // of the call's metadata: "Bearer TOKEN"

  // `told` gets a sentence for each peer that gives a wrong token, at most one in ten seconds for each machine. ""
  // = everybody is let in.
  Admission(std::string token, std::function<void(const std::string&)> told);

  // `authorization` is what the call's metadata have under kKey. Waits a second before it refuses; `stopped` is asked
  // meanwhile whether the caller has gone. Thread-safe.
  absl::Status admit(const std::string& authorization, const std::string& peer, const std::function<bool()>& stopped);
  // Whoever waits is answered at once.
  void stop();

 private:
  void tell(const std::string& peer);

  const std::string token_;
  const std::function<void(const std::string&)> told_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  struct Failures {
    std::int64_t told_at = 0;  // seconds on the steady clock
    std::uint64_t since = 0;   // not told yet
  };
  std::map<std::string, Failures> failures_;  // by machine
};

}  // namespace castscope::ingest
