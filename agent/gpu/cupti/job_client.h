// Tracks what the job's own client of CUPTI, torch.profiler as a rule, is doing. It is known by the calls that pass
// through job_cupti.cc, from the moment that castscope is there, whether castscope times anything by then or not.
//
// Threads: anyone may call. Takes no lock, and calls nothing of CUPTI.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace castscope::gpu {

class JobClient {
 public:
  // The client is about to begin something, and has the seat from here on. `now_ns`: a clock of the caller's.
  void begins(std::uint64_t now_ns) {
    last_call_ns_.store(now_ns, std::memory_order_relaxed);
    has_unfetched_ = true;
  }
  void subscribed() {
    is_subscribed_ = true;
    // A client that is done subscribes to callbacks again: Kineto does, so as to call cuptiFinalize in one of them.
    if (was_used_ && kinds_ == 0) tears_down_ = true;
  }
  void unsubscribed() { is_subscribed_ = false; }
  void enabled(int kind) {
    was_used_ = true;
    tears_down_ = false;
    kinds_.fetch_or(bit(kind));
  }
  void disabled(int kind) {
    const std::uint64_t before = kinds_.fetch_and(~bit(kind));
    if (before != 0 && (before & ~bit(kind)) == 0) has_unfetched_ = true;
  }
  void flushed() {
    if (kinds_ == 0) has_unfetched_ = false;
  }
  void finalized() {
    kinds_ = 0;
    has_unfetched_ = is_subscribed_ = tears_down_ = false;
  }

  // Whether the client has the seat: it has kinds of activity on, has not fetched what there was when it switched the
  // last one off, or is about to take CUPTI down. A client that makes no call for some seconds in the last two states
  // has let go of it.
  bool has_it(std::uint64_t now_ns) const {
    if (kinds_.load(std::memory_order_relaxed) != 0) return true;
    const bool busy = has_unfetched_.load(std::memory_order_relaxed) || tears_down_.load(std::memory_order_relaxed);
    return busy && now_ns - last_call_ns_.load(std::memory_order_relaxed) < kLetGoNs;
  }
  // Returns whether the client has ever switched a kind of activity on.
  bool has_recorded() const { return was_used_.load(std::memory_order_relaxed); }
  // A client that is done may stay subscribed.
  bool is_subscribed() const { return is_subscribed_; }

  // The client's name, for the report. It is set before castscope times anything, so that it is known by then.
  bool is_named() const { return name_.load() != nullptr; }
  void set_name(const char* name) {
    const char* none = nullptr;
    char* copy = strdup(name);
    if (!name_.compare_exchange_strong(none, copy)) free(copy);
  }
  const char* name() const {
    const char* name = name_.load();
    return name == nullptr ? "the job" : name;
  }

 private:
  static constexpr std::uint64_t kLetGoNs = 10'000'000'000;
  static constexpr std::uint64_t bit(int kind) { return kind >= 0 && kind < 64 ? std::uint64_t{1} << kind : 0; }

  std::atomic<bool> is_subscribed_{false}, has_unfetched_{false}, was_used_{false}, tears_down_{false};
  std::atomic<std::uint64_t> kinds_{0}, last_call_ns_{0};
  std::atomic<const char*> name_{nullptr};
};

}  // namespace castscope::gpu
