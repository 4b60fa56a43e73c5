// The thread that reads CUPTI's records.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>

#include "agent/gpu/captures.h"
#include "agent/gpu/device_names.h"
#include "agent/gpu/timing.h"
#include "agent/session/process.h"
#include "agent/torch/attention.h"

namespace castscope::gpu {
namespace {

// While the device works on what was timed, CUPTI is asked for its records this often, and so many times at most.
constexpr std::chrono::milliseconds kRound{50};
constexpr std::uint32_t kMostRoundsDrained = 200;
// While work is being timed, CUPTI is asked only now and then: asking holds up the threads that launch. Sooner where so
// many tickets were opened that the first of them might be overwritten before their records come. CUPTI hands over a
// buffer that is full, and what a thread that launches little wrote may lie in one that is not.
constexpr std::uint32_t kRoundsUnasked = 20;
constexpr std::uint64_t kTicketsUnasked = WorkBook::kTickets / 4;
// After so many operators, at least one is sure to have launched something.
constexpr std::uint64_t kSureOfTickets = 2'000;

}  // namespace

void* Timing::run(void* self) {
  pthread_setname_np(pthread_self(), "castscope-gpu");
  static_cast<Timing*>(self)->read_for_ever();
  return nullptr;
}

void Timing::read_for_ever() {
  try {
    if (library_.api.subscribe != nullptr) cupti::keep_loaded(library_);
    tell_devices();
    while (!agent::g_process.stopped.load(std::memory_order_relaxed)) {
      wait_for_work();
      {
        std::lock_guard lock(reading_);
        read_once(false);
      }
      leave_when_drained();
    }
  } catch (const std::exception&) {  // no memory
  }
  // Timing stops: castscope has stepped aside.
  agent::ask_for(agent::kTiming, false);
  if (by_events()) events_.load()->switch_on(false);
  std::lock_guard lock(control_);
  if (seat_.is_ours()) seat_.leave();
  state_ = State::kOver;
}

void Timing::tell_devices() {
  if (devices_told_.exchange(true)) return;
  for (const std::string& device : device_names()) set_attribute("gpu_device", device);
}

void Timing::wait_for_work() {
  const State now = state_.load();
  if ((now == State::kIdle || now == State::kOver) && !awaits_events())
    work_.wait();
  else
    work_.wait_at_most(kRound);
}

void Timing::read_once(bool last_chance) {
  if (counts_ == nullptr) {
    const auto tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
    counts_ = std::make_unique<KernelCounts>(recording_.segment, recording_.definitions, book_, graph_nodes_, tid);
    lanes::Lane& lane = counts_->lane().lane();
    counts_->tell_thread(recording_.definitions.thread(lane.id, tid, "castscope-gpu"));
  }
  read_events(last_chance);
  // The launches of steps without the seat do not concern CUPTI, and CUPTI may not be there.
  if (state_.load() == State::kIdle || library_.version == 0) return;
  // Full buffers come by themselves.
  const bool ask = state_.load() == State::kDraining || ++rounds_ % kRoundsUnasked == 0 ||
                   book_.opened() - opened_when_asked_ >= kTicketsUnasked;
  if (std::unique_lock lock(control_, std::try_to_lock); ask && lock && seat_.is_ours() && !is_capturing()) {
    opened_when_asked_ = book_.opened();
    seat_.flush(false);
    dropped_ += seat_.take_dropped();
  }
  apply_marks();
  counts_->clock().follow(read_clocks());
  for (Buffers::Full full = buffers_.take(); full.data != nullptr; full = buffers_.take()) parse(full);
  apply_marks();  // marks that were set while records were parsed
  launches_.settle(*counts_);
  graph_nodes_.settle();
  count_lost();
  record_more_if_needed(false);
}

void Timing::record_more_if_needed(bool seat_is_left) {
  const bool no_tickets = seat_is_left && !launches_.any_ticket() && book_.opened() >= kSureOfTickets;
  if (!unrecorded_calls_.more_are_needed(launches_.orphans(), no_tickets)) return;
  const std::unique_lock lock(control_, std::try_to_lock);
  if (!lock) return;
  unrecorded_calls_.added(launches_.orphans());
  seat_.record_more(!is_capturing());
}

// After the end of everything, CUDA may have ended, too.
bool Timing::awaits_events() const {
  if (state_.load() == State::kOver) return false;
  const EventTiming* events = events_.load(std::memory_order_acquire);
  return events != nullptr && (events->on() || events->in_flight() > 0);
}

// Not while a profiler of the job's is at work: it would tell the job of these calls. The last chance runs in a thread
// of the job's, which may be capturing.
void Timing::read_events(bool last_chance) {
  EventTiming* const events = events_.load(std::memory_order_acquire);
  if (events == nullptr || (state_.load() == State::kOver && !last_chance)) return;
  {
    const std::lock_guard lock(asking_);
    if (!job_.has_it(lanes::monotonic_ns()) && !(last_chance && is_capturing())) events->read(*counts_, last_chance);
  }
  count_untimed(last_chance);
}

// `for_good`: launches in flight will not be read any more.
void Timing::count_untimed(bool for_good) {
  const EventTiming* events = events_.load(std::memory_order_acquire);
  if (events == nullptr) return;
  const std::uint64_t untimed = events->untimed() + (for_good ? events->in_flight() : 0);
  recording_.segment.header().gpu_casts_untimed.fetch_add(untimed - untimed_, std::memory_order_relaxed);
  untimed_ = untimed;
}

bool Timing::has_marks() {
  const std::lock_guard lock(marks_mutex_);
  return !marks_.empty();
}

void Timing::apply_marks() {
  memory::OwnVector<Mark> marks;
  {
    std::lock_guard lock(marks_mutex_);
    marks.swap(marks_);
  }
  for (const Mark& mark : marks) {
    const std::uint64_t at = mark.at.records;
    if (mark.kind == Mark::kSeat) counts_->clock().begin(mark.at);
    if (mark.kind == Mark::kEnd) launches_.stretch_ends(at);
    if (mark.kind == Mark::kBegin) launches_.stretch_begins(at);
    if (mark.kind == Mark::kBegin || mark.kind == Mark::kStep) counts_->step_begins(at, mark.step);
  }
}

void Timing::parse(const Buffers::Full& full) {
  cupti::Record* record = nullptr;
  while (library_.api.next_record(full.data, full.valid, &record) == cupti::kSuccess && record != nullptr)
    launches_.add(*record);
  buffers_.give_back(full.data);
}

bool Timing::is_drained() {
  std::lock_guard lock(reading_);
  return launches_.outstanding() == 0 || ++rounds_drained_ >= kMostRoundsDrained;
}

// Recording may not end within a capture. After the capture it goes on until the graph is made ready to launch, because
// CUPTI then reports which nodes are copies of which.
bool Timing::may_leave() const { return !is_capturing() && !is_graph_awaited(lanes::monotonic_ns()); }

void Timing::leave_when_drained() {
  State now = state_.load();
  if (now == State::kDraining && is_drained() && may_leave()) {
    std::lock_guard lock(control_);
    if (state_.compare_exchange_strong(now, State::kLeaving)) {
      leave_seat();
      now = State::kLeaving;
    }
  }
  if (now == State::kTiming) rounds_drained_ = 0;
  if (now != State::kLeaving) return;
  std::lock_guard lock(reading_);
  read_once(false);
  launches_.finish(*counts_);
  count_lost();
  record_more_if_needed(true);
  rounds_drained_ = 0;
  state_.compare_exchange_strong(now, State::kIdle);
}

// Takes the larger number: what CUPTI dropped is mostly what never came, too. The exceptions are records of a graph's
// replay, and calls of which nothing came.
void Timing::count_lost() {
  const std::uint64_t lost = std::max<std::uint64_t>(launches_.never_came() + launches_.orphans(), dropped_);
  recording_.segment.header().gpu_lost.fetch_add(lost - lost_, std::memory_order_relaxed);
  lost_ = lost;
}

void Timing::finish() {
  tell_devices();  // for a job that is over before the reader began
  stretch_ends();
  const bool any_events = awaits_events();
  {
    std::lock_guard lock(control_);
    if (seat_.is_ours()) leave_seat();
    state_ = State::kOver;
  }
  std::lock_guard lock(reading_);
  // The reader has not begun, and has nothing to begin with.
  if (counts_ == nullptr && !has_marks() && !any_events) return;
  read_once(true);
  launches_.finish(*counts_);
  count_lost();
}

}  // namespace castscope::gpu
