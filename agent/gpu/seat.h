// CUPTI's one seat. Today's drivers take one client per process, and the functions of CUPTI that a client calls are all
// the same for all: who registers callbacks for buffers last gets everybody's records. So castscope takes the seat only
// while nobody else has it, leaves it the moment somebody wants it, and does not come back before that one is through.
//
// The job's own client is known by its calls (job_cupti.cc); one that nobody sees calling (Nsight, started around the
// job) by CUPTI's refusal.
//
// Threads: take(), leave(), flush() under a lock of the caller's; the rest by anyone. No function of CUPTI is called
// from those about the job.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "agent/gpu/cupti_abi.h"

namespace castscope::gpu {

class Seat {
 public:
  struct Callbacks {
    cupti::BufferRequested requested;
    cupti::BufferCompleted completed;
    cupti::Callback resource;  // of CUDA graphs' nodes
  };
  Seat(const cupti::Api& api, const Callbacks& callbacks) : api_(api), callbacks_(callbacks) {}

  enum class Taken { kYes, kRefused, kFailed };
  // `all_functions`: records every function of CUDA, not only those that are known to launch. `why`: set unless kYes.
  Taken take(bool all_functions, std::string* why);
  void leave();
  bool is_ours() const { return ours_; }
  // Asks for what is complete, or (`forced`) for everything.
  void flush(bool forced) { api_.flush_all(forced ? cupti::kFlushForced : 0); }
  std::uint64_t take_dropped();

  // What the job's own client does. It is about to begin something, and has the seat from here on.
  void job_begins(std::uint64_t now_ns) {
    last_call_ns_.store(now_ns, std::memory_order_relaxed);
    job_has_unfetched_ = true;
  }
  void job_subscribed() { job_subscribed_ = true; }
  void job_unsubscribed() { job_subscribed_ = false; }
  void job_enabled(int kind);
  void job_disabled(int kind);
  void job_flushed();
  void job_finalized();
  // It has kinds of activity on, or has not fetched what there was when it switched the last one off. `now_ns`: a clock
  // of the caller's; one that does neither for some seconds has let go of it.
  bool job_has_it(std::uint64_t now_ns) const;

 private:
  static constexpr std::uint64_t kLetGoNs = 10'000'000'000;
  cupti::Result switch_functions(bool on, bool all);
  std::string words(const char* what, cupti::Result result) const;
  static std::uint64_t bit(int kind) { return kind >= 0 && kind < 64 ? std::uint64_t{1} << kind : 0; }

  const cupti::Api& api_;
  const Callbacks callbacks_;
  cupti::Subscriber subscriber_ = nullptr;
  bool ours_ = false;  // or being taken
  bool all_functions_ = false;
  std::atomic<bool> job_subscribed_{false}, job_has_unfetched_{false};
  std::atomic<std::uint64_t> job_kinds_{0}, last_call_ns_{0};
};

}  // namespace castscope::gpu
