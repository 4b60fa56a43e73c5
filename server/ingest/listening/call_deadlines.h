// Ends calls whose peer does not do in time what is waited for (say hello, read why it is refused), and lets only so
// many wait: each call holds a thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <string>
#include <thread>

namespace grpc {
class ServerContext;
}

namespace castscope::ingest {

class CallDeadlines {
  struct Deadline {
    std::chrono::steady_clock::time_point end;
    grpc::ServerContext* call = nullptr;
    std::string sender = {};
  };

 public:
  explicit CallDeadlines(std::chrono::milliseconds patience);
  ~CallDeadlines();

  static constexpr std::size_t kMost = 256;

  // The call is cancelled unless this object goes in time.
  class Waiting {
   public:
    // `sender`: whose token came with the call; "" = none. One of several leaves a quarter of the places to others.
    Waiting(CallDeadlines& all, grpc::ServerContext* call, const std::string& sender = "");
    ~Waiting();
    bool may_wait() const { return may_wait_; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    CallDeadlines& all_;
    std::list<Deadline>::iterator place_;
    bool may_wait_ = false;
  };

 private:
  void cancel_until_stopped();

  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Deadline> waiting_;  // all have the same patience, so the first is due first
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace castscope::ingest
