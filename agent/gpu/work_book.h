// Records what each piece of GPU work was launched for. A launch is marked with a ticket (CUPTI's external correlation
// id); the record of what the device did brings the ticket back, long after, in another thread. This book knows whose
// the work is: an operator's use gets its number only when it is over, and a cast lies within an operator.
//
// Threads: anyone may open a ticket; the thread that opened it settles it; anyone may ask. No locks. A book has room
// for a fixed number of tickets, and the oldest are overwritten: a thread that asks for an overwritten one is told that
// it is gone, and never gets another's.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "agent/memory/own_memory.h"

namespace castscope::gpu {

// Numbers of definitions; 0 = none.
struct Purpose {
  std::uint32_t site = 0;    // the cast
  std::uint32_t use = 0;     // the operator use around it
  std::uint32_t op = 0;      // the operator, also where its use is not counted
  std::uint32_t origin = 0;  // string: the compiled region that runs around it
  bool operator==(const Purpose&) const = default;
};

class WorkBook : public memory::InOwnMemory {
 public:
  static constexpr std::size_t kTickets = 1u << 16;

  // Never 0. `outer`: the ticket of the work around it in this thread; 0 = none. `origin` is known from the begin.
  std::uint64_t open(std::uint64_t outer, std::uint32_t origin = 0) {
    const std::uint64_t ticket = next_.fetch_add(1, std::memory_order_relaxed);
    Entry& e = entry(ticket);
    std::uint64_t state = e.state.load(std::memory_order_relaxed);
    // The thread that is writing there has slept while all other places were taken: this ticket gets no place.
    if (of(state) == kWriting || !e.state.compare_exchange_strong(state, word(ticket, kWriting))) return ticket;
    std::atomic_thread_fence(std::memory_order_release);
    e.outer.store(outer, std::memory_order_relaxed);
    e.origin.store(origin, std::memory_order_relaxed);
    e.state.store(word(ticket, kOpen), std::memory_order_release);
    return ticket;
  }

  void settle(std::uint64_t ticket, const Purpose& purpose) {
    Entry& e = entry(ticket);
    std::uint64_t state = word(ticket, kOpen);  // else it was overwritten meanwhile
    if (!e.state.compare_exchange_strong(state, word(ticket, kWriting))) return;
    std::atomic_thread_fence(std::memory_order_release);
    e.site.store(purpose.site, std::memory_order_relaxed);
    e.use.store(purpose.use, std::memory_order_relaxed);
    e.op.store(purpose.op, std::memory_order_relaxed);
    e.state.store(word(ticket, kSettled), std::memory_order_release);
  }

  // How many tickets were opened so far.
  std::uint64_t opened() const { return next_.load(std::memory_order_relaxed) - 1; }

  enum class Found { kSettled, kOpen, kGone };
  // kSettled: all is known. kOpen: the work, or the operator around it, is not over yet. kGone: the ticket was
  // overwritten; `purpose` has what is still known of it (a cast whose operator is gone).
  Found find(std::uint64_t ticket, Purpose* purpose) const {
    *purpose = {};
    for (int depth = 0; ticket != 0 && depth < kMostDepth; ++depth) {
      const Entry& e = entry(ticket);
      const std::uint64_t state = e.state.load(std::memory_order_acquire);
      if (state >> 2 != ticket) return Found::kGone;
      if (of(state) != kSettled) return Found::kOpen;
      Purpose p{e.site.load(std::memory_order_relaxed), e.use.load(std::memory_order_relaxed),
                e.op.load(std::memory_order_relaxed), e.origin.load(std::memory_order_relaxed)};
      const std::uint64_t outer = e.outer.load(std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_acquire);
      if (e.state.load(std::memory_order_relaxed) != state) return Found::kGone;
      if (purpose->site == 0) purpose->site = p.site;
      if (purpose->origin == 0) purpose->origin = p.origin;
      purpose->use = p.use;
      purpose->op = p.op;
      if (p.use != 0 || p.op != 0) return Found::kSettled;
      ticket = outer;
    }
    return Found::kSettled;
  }

 private:
  static constexpr int kMostDepth = 64;
  enum State : std::uint64_t { kNone, kWriting, kOpen, kSettled };
  static constexpr std::uint64_t word(std::uint64_t ticket, State state) { return ticket << 2 | state; }
  static constexpr State of(std::uint64_t word) { return static_cast<State>(word & 3); }
  struct Entry {
    std::atomic<std::uint64_t> state{0};  // ticket and State
    std::atomic<std::uint64_t> outer{0};
    std::atomic<std::uint32_t> site{0}, use{0}, op{0}, origin{0};
  };
  Entry& entry(std::uint64_t ticket) { return entries_[ticket % kTickets]; }
  const Entry& entry(std::uint64_t ticket) const { return entries_[ticket % kTickets]; }

  std::atomic<std::uint64_t> next_{1};
  std::array<Entry, kTickets> entries_;
};

}  // namespace castscope::gpu
