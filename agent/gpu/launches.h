// Puts together what CUPTI tells in pieces, in any order and in different buffers: that a function of CUDA was called
// (its record, with the time of the call), which ticket was in front of it, and what the device did for it. One call
// may have the device do nothing (a launch into a graph that is captured), one thing, or many (a graph's replay).
//
// Only calls within a stretch of timing count: CUPTI goes on for a while after a stretch, to tell what the device still
// has to do. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/gpu/cupti/cupti_abi.h"
#include "agent/memory/own_memory.h"

namespace castscope::gpu {

// One thing that a device did, copied out of the record, whose memory CUPTI takes back.
struct DeviceWork {
  std::uint32_t correlation = 0;
  std::uint32_t device = 0, stream = 0;
  std::uint8_t kind = 0;       // cupti::ActivityKind
  std::uint8_t direction = 0;  // for a copy only
  std::uint32_t blocks = 0, threads = 0;
  std::uint64_t start = 0, end = 0;
  std::uint64_t bytes = 0;
  std::uint64_t graph_node = 0;
  const char* name = nullptr;  // for a kernel only
  std::uint32_t uncalled = 0;  // settle() calls for which its call was not known
};

class Launches {
 public:
  // Takes what was put together. `ticket`: 0 = launched outside any operator; `called`: when, in CUPTI's clock.
  class Sink {
   public:
    // Returns false to be asked again later.
    virtual bool place(const DeviceWork& work, std::uint64_t ticket, std::uint64_t called, bool last_chance) = 0;

   protected:
    ~Sink() = default;
  };

  // Records of one call come at most so many rounds (calls of settle()) apart.
  static constexpr std::uint32_t kRoundsKept = 64;

  // A stretch of timing in CUPTI's clock. The last one is open until it ends.
  void stretch_begins(std::uint64_t at) { begin(stretches_, at); }
  void stretch_ends(std::uint64_t at) { end(stretches_, at); }

  void add(const cupti::Record& record);
  // Hands on what is complete. Call it when all records that have come were added.
  void settle(Sink& sink);
  // Nothing more will come: hands on what can be handed on, and forgets the rest.
  void finish(Sink& sink);

  // Calls within stretches whose work has not come from the device yet.
  std::uint64_t outstanding() const { return outstanding_; }
  // Totals so far. never_came(): calls whose work never came, except those into a graph that was captured meanwhile,
  // and work that came without its times. orphans(): work whose call is not known, so that nobody can say whose it is.
  std::uint64_t never_came() const { return never_came_ + without_times_; }
  std::uint64_t orphans() const { return orphans_; }
  // Whether any call came with a ticket.
  bool any_ticket() const { return any_ticket_; }

 private:
  struct Call {
    std::uint64_t called = 0;  // 0 = its record has not come
    std::uint64_t ticket = 0;
    std::uint32_t works = 0;  // how many pieces of work came
    std::uint32_t age = 0;    // settle() calls since anything of it came
    bool counted = false;     // in outstanding_
    bool failed = false;      // no work will come of it
  };
  // A call without its work is awaited longer: a device may have much to do before it.
  static constexpr std::uint32_t kRoundsAwaited = 300;

  struct Stretch {
    std::uint64_t begin, end;
  };
  static void begin(memory::OwnVector<Stretch>& stretches, std::uint64_t at);
  static void end(memory::OwnVector<Stretch>& stretches, std::uint64_t at);
  static bool is_in(const memory::OwnVector<Stretch>& stretches, std::uint64_t at);
  void capture_ends(std::uint64_t at);
  bool is_captured(std::uint64_t at) const;
  void add_call(const cupti::ApiRecord& record);
  void add_work(const DeviceWork& work);
  void give_up(Call& call);
  void forget_old();

  memory::OwnVector<Stretch> stretches_, captures_;
  memory::OwnMap<std::uint32_t, Call> calls_;  // by correlation id
  memory::OwnVector<DeviceWork> waiting_;
  std::uint64_t outstanding_ = 0, never_came_ = 0, without_times_ = 0, orphans_ = 0;
  bool any_ticket_ = false;
};

}  // namespace castscope::gpu
