// Times launches by pairs of CUDA events, for when CUPTI's seat is not to be had: one before the launch, one after it,
// on its own stream. The time between them is at least what the kernel took, and more where the stream was idle: then
// it begins when the first event is given to the device, before the launch is. docs/decisions/gpu.md.
//
// Threads: before() and after() by the thread that launches, without waiting; read() by one thread at a time. The
// functions of CUDA that are called here must leave nothing in the last error of a job's thread (cudaGetLastError),
// which PyTorch asks for after each launch: where there is an error already the launch is not timed, and one that we
// made is taken away again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/gpu/cudart_abi.h"
#include "agent/gpu/event_pairs.h"
#include "agent/memory/own_memory.h"

namespace castscope::gpu {

class EventTiming : public memory::InOwnMemory {
 public:
  explicit EventTiming(const Cudart& cudart) : cudart_(cudart) {}

  // Whether launches are timed. After it is switched off, a few launches that are under way may still be timed.
  void switch_on(bool on) { on_.store(on, std::memory_order_relaxed); }
  bool on() const { return on_.load(std::memory_order_relaxed); }

  // Called before a launch for `ticket` (work_book.h), and after() behind it. nullptr: the launch cannot be timed.
  EventPair* before(cudart::Stream stream, std::uint64_t ticket);
  void after(EventPair* pair, bool launched);

  class Sink {
   public:
    enum class Placed { kCounted, kNotYet, kUnknown };
    // kNotYet, never with `last_chance`: its purpose is not known yet, offer it again. kUnknown: its purpose will never
    // be known.
    virtual Placed place_cast(std::uint64_t ticket, int device, std::uint64_t ns, bool last_chance) = 0;

   protected:
    ~Sink() = default;
  };
  // Hands over what the device is done with. `last_chance`: it runs in a thread of the job's, and the rest is not
  // timed.
  void read(Sink& sink, bool last_chance);

  // How many launches were timed and are not handed over yet.
  std::uint64_t in_flight() const { return in_flight_.load(std::memory_order_relaxed); }
  // How many launches were not timed, or have an unknown purpose.
  std::uint64_t untimed() const { return untimed_.load(std::memory_order_relaxed); }

 private:
  struct Measured {
    std::uint64_t ticket;
    int device;
    std::uint64_t ns;
  };
  bool worked(cudart::Error result);
  bool may_record(cudart::Stream stream);
  EventPair* take_pair();
  void prepare_thread(int device);
  void measure(bool last_chance);
  void measured(EventPair* pair);
  void not_timed() { untimed_.fetch_add(1, std::memory_order_relaxed); }

  const Cudart cudart_;
  EventPairs pairs_;
  std::atomic<bool> on_{false};
  std::atomic<bool> broken_{false};
  std::atomic<std::uint64_t> in_flight_{0}, untimed_{0};
  // used by the reader only
  bool prepared_ = false;
  memory::OwnVector<EventPair*> waiting_;
  memory::OwnVector<Measured> measured_;
};

}  // namespace castscope::gpu
