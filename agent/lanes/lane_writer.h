// The hot half of a lane: publishing one event, adding to one counter. Inline, no calls, only the branch for a full
// ring. Only the thread that holds the lane may use it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "agent/lanes/format.h"
#include "agent/lanes/own_counter.h"
#include "agent/lanes/segment_writer.h"

namespace castscope::lanes {

class LaneWriter {
 public:
  LaneWriter() = default;
  LaneWriter(SegmentWriter& segment, Lane& lane)
      : lane_(&lane),
        ring_(segment.at<Event>(lane.ring)),
        // A lane without a ring acts as a ring of a single place that is always taken.
        mask_(lane.ring_capacity == 0 ? 0 : lane.ring_capacity - 1),
        head_(lane.ring_capacity == 0 ? 1 : lane.head.load(std::memory_order_relaxed)),
        tail_(lane.tail.load(std::memory_order_acquire)),
        has_counter_(segment.header().clock == kOwnCounter) {}

  Lane& lane() { return *lane_; }
  std::uint64_t now() const { return has_counter_ ? machine::ticks() : monotonic_ns(); }

  // The slot to fill, or nullptr when the ring is full (then it is counted as dropped). Fill every field, then publish.
  // Left to itself, GCC calls it at each hit: 10 instructions.
  [[gnu::always_inline]] Event* begin_event() {
    if (head_ - tail_ > mask_) [[unlikely]] {
      tail_ = lane_->tail.load(std::memory_order_acquire);
      if (head_ - tail_ > mask_) {
        SegmentWriter::drop_event(*lane_);
        return nullptr;
      }
    }
    return &ring_[head_ & mask_];
  }
  // The same for an event that only serves the picture: returns nullptr, and counts nothing, where the events that make
  // up steps may soon need the room (most_with_picture).
  Event* begin_picture_event() {
    const std::uint64_t most = most_with_picture(mask_ + 1);
    if (head_ - tail_ >= most) [[unlikely]] {
      tail_ = lane_->tail.load(std::memory_order_acquire);
      if (head_ - tail_ >= most) return nullptr;
    }
    return &ring_[head_ & mask_];
  }
  void publish() { lane_->head.store(++head_, std::memory_order_release); }

  // There is one writer: a plain add, no lock prefix; the reader sees each word whole.
  static void add(Shared<std::uint64_t>& word, std::uint64_t n) {
    word.store(word.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  static std::uint32_t saturate(std::uint64_t n) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(n, std::numeric_limits<std::uint32_t>::max()));
  }

 private:
  Lane* lane_ = nullptr;
  Event* ring_ = nullptr;
  std::uint64_t mask_ = 0;
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;  // as last read: the reader only ever increases it
  bool has_counter_ = true;
};

}  // namespace castscope::lanes
