#include "agent/gpu/event_timing.h"

#include <algorithm>
#include <cmath>

namespace castscope::gpu {

using cudart::kNotReady;
using cudart::kSuccess;

// A call that should not fail did. Events are of no use here (a context that is not the runtime's, a device that was
// reset), and the job must not see our error. An error that comes from the job's own work stays, whatever is taken
// away.
bool EventTiming::worked(cudart::Error result) {
  if (result == kSuccess) return true;
  cudart_.take_error();
  broken_.store(true, std::memory_order_relaxed);
  return false;
}

bool EventTiming::may_record(cudart::Stream stream) {
  if (broken_.load(std::memory_order_relaxed) || cudart_.peek_error() != kSuccess) return false;
  cudart::CaptureStatus status{};
  if (cudart_.is_capturing(stream, &status) == kSuccess) return status == cudart::kNotCapturing;
  cudart_.take_error();  // the default stream, while another one is captured: the launch will fail, too
  return false;
}

EventPair* EventTiming::take_pair() {
  int device = 0;
  if (!worked(cudart_.get_device(&device))) return nullptr;
  EventPair* pair = pairs_.take(device);
  if (pair == nullptr || pair->end != nullptr) return pair;
  // This must not end a capture that another thread begins just now.
  cudart::CaptureMode mode = cudart::kRelaxed;
  if (!worked(cudart_.exchange_capture_mode(&mode))) return nullptr;
  const bool created = worked(cudart_.create(&pair->begin, cudart::kDefaultEvent)) &&
                       worked(cudart_.create(&pair->end, cudart::kDefaultEvent));
  cudart_.exchange_capture_mode(&mode);
  return created ? pair : nullptr;
}

EventPair* EventTiming::before(cudart::Stream stream, std::uint64_t ticket) {
  if (!may_record(stream)) return nullptr;
  EventPair* pair = take_pair();
  if (pair == nullptr) return nullptr;
  pair->stream = stream;
  pair->ticket = ticket;
  if (worked(cudart_.record(pair->begin, stream))) return pair;
  pairs_.give_back(pair);
  return nullptr;
}

void EventTiming::after(EventPair* pair, bool launched) {
  if (pair == nullptr) {
    if (launched) not_timed();
    return;
  }
  // The error of a failed launch is the job's: nothing is called that might put another one in its place.
  if (!launched) return pairs_.give_back(pair);
  if (!worked(cudart_.record(pair->end, pair->stream))) {
    not_timed();
    return pairs_.give_back(pair);
  }
  in_flight_.fetch_add(1, std::memory_order_relaxed);
  pairs_.publish(pair);
}

// While another thread captures a graph, our thread may ask for events. For that the runtime opens the thread's device:
// it must be one that the job uses already, not the first one, where a context that nobody uses would take half a
// gigabyte.
void EventTiming::prepare_thread(int device) {
  prepared_ = true;
  cudart::CaptureMode mode = cudart::kRelaxed;
  cudart_.set_device(device);
  cudart_.exchange_capture_mode(&mode);
}

void EventTiming::measured(EventPair* pair) {
  float milliseconds = 0;
  if (cudart_.elapsed_time(&milliseconds, pair->begin, pair->end) == kSuccess) {
    const double ns = std::max(0.0, static_cast<double>(milliseconds) * 1e6);
    measured_.push_back({pair->ticket, pair->device, static_cast<std::uint64_t>(std::llround(ns))});
  } else {
    not_timed();
    in_flight_.fetch_sub(1, std::memory_order_relaxed);
  }
  pairs_.give_back(pair);
}

// A pair is not asked for if it comes after an incomplete one on the same stream.
void EventTiming::measure(bool last_chance) {
  measured_.reserve(measured_.size() + waiting_.size());  // nothing is thrown midway
  const EventPair* incomplete = nullptr;
  std::size_t kept = 0;
  for (EventPair* pair : waiting_) {
    const bool behind =
        incomplete != nullptr && incomplete->stream == pair->stream && incomplete->device == pair->device;
    const cudart::Error result = behind ? kNotReady : cudart_.query(pair->end);
    if (result == kSuccess) {
      measured(pair);
    } else if (result == kNotReady && !last_chance) {
      incomplete = pair;
      waiting_[kept++] = pair;
    } else {
      not_timed();
      in_flight_.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  waiting_.resize(kept);
}

void EventTiming::read(Sink& sink, bool last_chance) {
  waiting_.reserve(EventPairs::kMost);
  pairs_.fetch([&](EventPair* pair) { waiting_.push_back(pair); });
  if (!last_chance && !prepared_ && !waiting_.empty()) prepare_thread(waiting_.front()->device);
  const bool was_clean = cudart_.peek_error() == kSuccess;
  measure(last_chance);
  if (was_clean) cudart_.take_error();  // the last chance is in a thread of the job's
  std::size_t kept = 0;
  for (const Measured& one : measured_) {
    const Sink::Placed placed = sink.place_cast(one.ticket, one.device, one.ns, last_chance);
    if (placed == Sink::Placed::kNotYet) {
      measured_[kept++] = one;
      continue;
    }
    if (placed == Sink::Placed::kUnknown) not_timed();
    in_flight_.fetch_sub(1, std::memory_order_relaxed);
  }
  measured_.resize(kept);
}

}  // namespace castscope::gpu
