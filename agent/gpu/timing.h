// Times what a GPU does in deep steps: takes CUPTI's seat for them, reads the records in a thread of its own, and
// leaves the seat when the device is done with what was launched in them. docs/decisions/gpu.md.
//
// Threads: stretches begin and end in the job's threads, which never wait for the reader: while the reader is at work
// with the seat, a stretch is not timed. The job's calls of CUPTI wait while castscope leaves the seat for them.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "agent/gpu/cupti/buffers.h"
#include "agent/gpu/cupti/cupti.h"
#include "agent/gpu/cupti/job_cupti.h"
#include "agent/gpu/cupti/seat.h"
#include "agent/gpu/event_timing.h"
#include "agent/gpu/graph_nodes.h"
#include "agent/gpu/kernel_counts.h"
#include "agent/gpu/launches.h"
#include "agent/gpu/unrecorded_calls.h"
#include "agent/gpu/wakeup.h"
#include "agent/gpu/work_book.h"

namespace castscope::agent {
struct Recording;
}

namespace castscope::gpu {

class Timing final : public memory::InOwnMemory, public SeatHolder {
 public:
  // `has_cupti`: `library` is one; otherwise only CUDA events are left.
  Timing(agent::Recording& recording, const cupti::Library& library, bool has_cupti, Seat::Functions functions);

  // Returns false, and says so in the report, where there can be no timing.
  bool start();
  void stretch_begins(bool is_step);
  void stretch_ends();
  // The process ends: reads what is known by now.
  void finish();

  const cupti::Api& api() const { return library_.api; }
  // Whether launches are timed by events, without CUPTI.
  bool by_events() const {
    const EventTiming* events = events_.load(std::memory_order_acquire);
    return events != nullptr && events->on();
  }
  WorkBook& book() { return book_; }

  void job_wants_seat(const char* who) override;
  void cupti_ends() override;
  Seat& seat() { return seat_; }

  // The callbacks for CUPTI.
  void requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records);
  void completed(std::uint8_t* buffer, std::size_t valid);
  void node_of_graph(std::uint32_t callback, const cupti::GraphData& graph);

 private:
  // kIdle: the seat is not ours. kTiming: launches are timed. kDraining: new launches are not, but the device still
  // works on earlier ones. kLeaving: the seat is left, or being left, and the reader has not read everything yet.
  // kOver: timing has ended for good.
  enum class State { kIdle, kTiming, kDraining, kLeaving, kOver };
  struct Mark {
    enum Kind { kSeat, kBegin, kEnd, kStep } kind;  // kSeat: it was taken; the job may have set another clock before
    ClockReading at;
    std::uint32_t step;
  };

  static void* run(void* self);
  void read_for_ever();
  void tell_devices();  // asks the linker: do not call it in a thread that may have the GIL
  void wait_for_work();
  void read_once(bool last_chance);  // call under reading_
  bool has_marks();
  void apply_marks();
  void parse(const Buffers::Full& full);
  void leave_when_drained();
  bool is_drained();
  bool may_leave() const;
  void leave_seat();  // call under control_
  void count_lost();
  void record_more_if_needed(bool seat_is_left);
  // kAnothers: a client that is not the job's has the seat, or nobody could have it. kNothing: not now.
  enum class Got { kSeat, kAnothers, kNothing };
  Got take_seat();  // call under control_
  bool graphs_forbid_cupti();
  void begin_by_events();  // call under control_
  bool is_new_step();
  void read_events(bool last_chance);  // call under reading_
  void count_untimed(bool for_good);
  bool awaits_events() const;
  void wake();
  void mark(Mark::Kind kind);
  void seat_lost(const char* who);
  void seat_is_back();
  ClockReading read_clocks() const;
  std::uint64_t since_begin_ns() const;
  void set_attribute(const char* key, const std::string& value);

  agent::Recording& recording_;
  const cupti::Library library_;
  WorkBook book_;
  GraphNodes graph_nodes_;
  Buffers buffers_;
  Seat seat_;
  const JobClient& job_;
  bool has_cupti_;                             // CUPTI is there and works; under control_
  std::atomic<EventTiming*> events_{nullptr};  // set once they were needed
  std::mutex asking_;                          // held by the thread that asks CUDA for events
  std::uint64_t untimed_ = 0;                  // as last told; under reading_
  std::atomic<State> state_{State::kIdle};
  std::atomic<std::uint32_t> last_step_{~0u};
  std::mutex control_;  // guards the seat
  std::mutex reading_;  // guards what follows
  Launches launches_;
  std::unique_ptr<KernelCounts> counts_;
  std::uint32_t rounds_ = 0, rounds_drained_ = 0;
  std::uint64_t opened_when_asked_ = 0;  // tickets, when CUPTI was last asked for what is complete
  std::uint64_t lost_ = 0;               // as last told
  std::uint64_t dropped_ = 0;
  UnrecordedCalls unrecorded_calls_{Launches::kRoundsKept};
  std::atomic<bool> devices_told_{false};
  std::mutex marks_mutex_;
  memory::OwnVector<Mark> marks_;
  Wakeup work_;  // of the thread that reads
  // Another client's span in the seat; under control_.
  std::string other_;
  std::uint64_t other_since_ns_ = 0;
  std::uint32_t spans_ = 0;
};

}  // namespace castscope::gpu
