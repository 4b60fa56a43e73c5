// CUPTI's one seat. Today's drivers take one client per process, and the functions of CUPTI that clients call are
// shared by all: the last client to register callbacks for buffers gets everybody's records. So castscope takes the
// seat only while no other client has it, leaves it the moment another one wants it, and does not come back before that
// one is done.
//
// The job's own client is known by its calls (job_client.h); a client whose calls are not seen (Nsight, started around
// the job) by CUPTI's refusal.
//
// Threads: take(), leave(), record_more(), flush(), take_dropped() under a lock of the caller's; the rest by anyone.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "agent/gpu/cupti/cupti_abi.h"
#include "agent/gpu/cupti/job_client.h"

namespace castscope::gpu {

class Seat {
 public:
  struct Callbacks {
    cupti::BufferRequested requested;
    cupti::BufferCompleted completed;
    cupti::Callback resource;  // for the nodes of CUDA graphs
  };
  // Which functions of CUDA are recorded. Work that is launched by another one has no operator.
  enum class Functions {
    kSingly,  // those that launch, switched on one by one: only where that works (first_context.h)
    kChosen,  // those that launch, of all that their kinds have
    kAll,
  };
  Seat(const cupti::Api& api, const Callbacks& callbacks, const JobClient& job, Functions functions)
      : api_(api), callbacks_(callbacks), job_(job), functions_(functions) {}

  enum class Taken { kYes, kRefused, kFailed };
  // `why` is set unless kYes.
  Taken take(std::string* why);
  void leave();
  // To be called when work came whose call was not recorded. Records more functions: at once if that is possible
  // (`now`), else from the next stretch on.
  void record_more(bool now);
  bool is_ours() const { return ours_; }
  // Asks for what is complete, or (`forced`) for everything.
  void flush(bool forced);
  std::uint64_t take_dropped();

  // The job is about to end CUPTI (cuptiFinalize), perhaps from within a callback: nothing is left to be flushed,
  // switched off or left. Takes no lock, calls nothing.
  void vanishes() { is_gone_ = true; }
  bool is_gone() const { return is_gone_.load(std::memory_order_relaxed); }

 private:
  cupti::Result record_functions();
  void stop_functions();
  std::string words(const char* what, cupti::Result result) const;

  const cupti::Api& api_;
  const Callbacks callbacks_;
  const JobClient& job_;
  cupti::Subscriber subscriber_ = nullptr;
  bool ours_ = false;  // also while it is being taken
  Functions functions_;
  Functions recorded_ = Functions::kSingly;  // while the seat is ours
  std::atomic<bool> is_gone_{false};
};

}  // namespace castscope::gpu
