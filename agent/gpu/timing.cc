#include "agent/gpu/timing.h"

#include <csignal>
#include <exception>

#include "agent/gpu/captures.h"
#include "agent/gpu/launch_calls.h"
#include "agent/session/process.h"
#include "agent/torch/attention.h"

namespace castscope::gpu {
namespace {

// The most spans that are told, for a job that profiles itself again and again.
constexpr std::uint32_t kMostSpans = 200;

Timing* g_callbacks_timing = nullptr;  // for CUPTI's callbacks, which carry no pointer of ours

void requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  g_callbacks_timing->requested(buffer, size, most_records);
}
void completed(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  g_callbacks_timing->completed(buffer, valid);
}
void resource(void*, int domain, std::uint32_t callback, const void* data) {
  if (domain != cupti::kResourceDomain) return;
  const auto& resource = *static_cast<const cupti::ResourceData*>(data);
  if (resource.descriptor != nullptr)
    g_callbacks_timing->node_of_graph(callback, *static_cast<const cupti::GraphData*>(resource.descriptor));
}

}  // namespace

Timing::Timing(agent::Recording& recording, const cupti::Library& library, bool has_cupti, Seat::Functions functions)
    : recording_(recording),
      library_(library),
      graph_nodes_(book_),
      seat_(library_.api, {gpu::requested, gpu::completed, gpu::resource}, gpu::job_client(), functions),
      job_(gpu::job_client()),
      has_cupti_(has_cupti) {
  g_callbacks_timing = this;
}

bool Timing::start() {
  pthread_t thread;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the job's handlers must not run in our thread
  const bool started = pthread_create(&thread, nullptr, run, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started) {
    set_attribute("gpu_timed_by", "none: no thread can be started to read CUPTI's records");
    return false;
  }
  pthread_detach(thread);
  if (has_cupti_) set_attribute("gpu_timed_by", cupti::describe(library_.version));
  return true;
}

void Timing::stretch_begins(bool is_step) {
  State now = state_.load();
  if (now == State::kDraining && state_.compare_exchange_strong(now, State::kTiming)) now = State::kTiming;
  if (now == State::kIdle) {
    std::unique_lock lock(control_, std::try_to_lock);
    if (!lock || state_.load() != State::kIdle) return;
    const Got got = take_seat();
    // Captured work is not launched: events could not time it.
    if (got == Got::kAnothers && is_step) return begin_by_events();
    if (got != Got::kSeat) return;
    state_ = now = State::kTiming;
    mark(Mark::kSeat);
  }
  if (now != State::kTiming) return;
  if (is_step && is_new_step()) recording_.segment.header().gpu_steps.fetch_add(1, std::memory_order_relaxed);
  mark(agent::timing() && !by_events() ? Mark::kStep : Mark::kBegin);
  if (by_events()) events_.load()->switch_on(false);
  agent::ask_for(agent::kTiming, true);
  wake();
}

void Timing::begin_by_events() {
  EventTiming* const events = watch_launches();
  if (events == nullptr) return;
  if (events_.exchange(events) == nullptr) set_attribute("gpu_timed_by", "CUDA events");
  if (is_new_step()) recording_.segment.header().gpu_event_steps.fetch_add(1, std::memory_order_relaxed);
  events->switch_on(true);
  agent::ask_for(agent::kTiming, true);
  wake();
}

// The first tensor on a GPU may be met before the first region; the step is the same.
bool Timing::is_new_step() {
  const std::uint32_t step = recording_.steps.current();
  return last_step_.exchange(step) != step;
}

void Timing::stretch_ends() {
  if (!agent::ask_for(agent::kTiming, false)) return;
  if (by_events()) return events_.load()->switch_on(false);
  mark(Mark::kEnd);
  State timing = State::kTiming;
  state_.compare_exchange_strong(timing, State::kDraining);
}

void Timing::mark(Mark::Kind kind) {
  const ClockReading now = read_clocks();
  std::lock_guard lock(marks_mutex_);
  marks_.push_back({kind, now, recording_.steps.current()});
}

Timing::Got Timing::take_seat() {
  // A profile of the job's own would contain our calls for events.
  if (is_capturing()) return Got::kNothing;
  if (job_.has_it(lanes::monotonic_ns())) {
    seat_lost(job_.name());
    return Got::kNothing;
  }
  if (!has_cupti_ || graphs_forbid_cupti()) {
    seat_is_back();  // as far as casts are timed at all
    return Got::kAnothers;
  }
  std::string why;
  switch (seat_.take(&why)) {
    case Seat::Taken::kYes:
      seat_is_back();
      return Got::kSeat;
    case Seat::Taken::kRefused:
      seat_lost(why.c_str());
      return Got::kAnothers;
    case Seat::Taken::kFailed:
      break;
  }
  set_attribute("gpu_timed_by", "none: " + why);
  has_cupti_ = false;
  return Got::kAnothers;
}

bool Timing::graphs_forbid_cupti() {
  if (library_.version >= cupti::kStandsGraphs || !captured_any()) return false;
  set_attribute("gpu_timed_by", "none: castscope does not use CUPTI before CUDA 12.6 once CUDA graphs are captured");
  has_cupti_ = false;
  return true;
}

void Timing::job_wants_seat(const char* who) {
  std::lock_guard lock(control_);
  if (by_events()) {
    agent::ask_for(agent::kTiming, false);
    events_.load()->switch_on(false);
  }
  { const std::lock_guard asked(asking_); }  // from here on the reader no longer asks CUDA for events
  if (seat_.is_ours()) {
    if (agent::ask_for(agent::kTiming, false)) mark(Mark::kEnd);
    state_ = State::kLeaving;
    leave_seat();
    wake();
  }
  seat_lost(who);
}

void Timing::cupti_ends() {
  seat_.vanishes();
  agent::ask_for(agent::kTiming, false);
  State timing = State::kTiming, draining = State::kDraining;
  if (state_.compare_exchange_strong(timing, State::kLeaving) ||
      state_.compare_exchange_strong(draining, State::kLeaving))
    wake();
}

// Work that the device has not done by now is not reported any more.
void Timing::leave_seat() {
  seat_.leave();
  dropped_ += seat_.take_dropped();
}

void Timing::wake() { work_.wake(); }

void Timing::seat_lost(const char* who) {
  if (!other_.empty()) return;
  other_ = who;
  other_since_ns_ = since_begin_ns();
  if (spans_++ < kMostSpans) set_attribute("gpu_seat", std::to_string(other_since_ns_) + " - " + other_);
}

void Timing::seat_is_back() {
  if (other_.empty()) return;
  if (spans_ <= kMostSpans)
    set_attribute("gpu_seat", std::to_string(other_since_ns_) + " " + std::to_string(since_begin_ns()) + " " + other_);
  other_.clear();
}

void Timing::requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = buffers_.request();
  *size = *buffer == nullptr ? 0 : Buffers::kBytes;
  *most_records = 0;
  if (*buffer != nullptr || library_.version >= cupti::kMayRefuseBuffers) return;
  *buffer = buffers_.request_spare();
  *size = *buffer == nullptr ? 0 : Buffers::kBytes;
}

void Timing::completed(std::uint8_t* buffer, std::size_t valid) { buffers_.completed(buffer, valid); }

void Timing::node_of_graph(std::uint32_t callback, const cupti::GraphData& graph) try {
  std::uint64_t node = 0, from = 0;
  if (library_.api.graph_node_id(graph.node, &node) != cupti::kSuccess) return;
  const agent::ThreadState* t = agent::thread_slot();
  if (callback == cupti::kGraphNodeCreated) {
    if (t != nullptr) graph_nodes_.created(node, t->gpu_work);
  } else if (library_.api.graph_node_id(graph.original_node, &from) == cupti::kSuccess) {
    graph_nodes_.cloned(node, from);
  }
} catch (const std::exception&) {  // no memory: the replays of this graph belong to nobody
}

ClockReading Timing::read_clocks() const {
  ClockReading best;
  std::uint64_t least = ~std::uint64_t{0};
  for (int i = 0; i < 3; ++i) {
    ClockReading r;
    const std::uint64_t before = recording_.segment.now();
    if (library_.api.timestamp(&r.records) != cupti::kSuccess) return r;
    const std::uint64_t after = recording_.segment.now();
    if (after - before >= least) continue;
    least = after - before;
    r.segment = before + least / 2;
    r.monotonic_ns = lanes::monotonic_ns();
    best = r;
  }
  return best;
}

std::uint64_t Timing::since_begin_ns() const {
  return lanes::monotonic_ns() - recording_.segment.header().monotonic0_ns;
}

void Timing::set_attribute(const char* key, const std::string& value) { recording_.definitions.attribute(key, value); }

}  // namespace castscope::gpu
