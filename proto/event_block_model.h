// The state of both ends of an event block after the events so far, and the columns in which they note the differences.
// Only event_block_pack.cc and event_block_unpack.cc include this.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/lanes/event_views.h"
#include "agent/lanes/format.h"

namespace castscope::wire {

using lanes::EventWords;

enum Column {
  kCodes,
  kKeys,
  kMasks,
  kTimeClasses,
  kDurationClasses,
  kDims,
  kBytes,
  kTensorClasses,
  kNewTensorClasses,
  kSteps,
  kRegions,
  kEntries,
  kFlags,
  kColumns
};

// All columns of one event at their widest, in the order above: 5 + 6 + 1 + 1 + 1 + 21 + 10 + 1 + 1 + 5 + 5 + 5 + 1.
inline constexpr std::size_t kMostColumnBytesPerEvent = 63;
inline constexpr std::size_t kColumnOverhead = kColumns * 10;

// Bits of the mask: what differs from the prediction.
enum Changed : std::uint8_t {
  kDimsBit = 1,
  kBytesBit = 2,
  kTensorBit = 4,
  kStepBit = 8,
  kRegionBit = 16,
  kEntriesBit = 32,
  kFlagsBit = 64
};

// Codes of the site column; others are the slot's number + 2.
inline constexpr std::uint64_t kAsPredicted = 0, kNewSlot = 1;
inline constexpr std::uint32_t kNoSlot = 0xffffffff;

inline std::uint64_t zigzag(std::uint64_t difference) { return (difference << 1) ^ (0 - (difference >> 63)); }
inline std::uint64_t unzigzag(std::uint64_t z) { return (z >> 1) ^ (0 - (z & 1)); }

// How far one object of a heap is from another, as a number that is small for neighbours. They lie 16 bytes apart: the
// low four bits go to the top, where they are zero between real objects; the 60 others are zigzagged.
inline constexpr std::uint64_t kLow60 = (std::uint64_t{1} << 60) - 1;
inline std::uint64_t heap_distance(std::uint64_t to, std::uint64_t from) {
  const std::uint64_t turned = std::rotr(to - from, 4), low = turned & kLow60;
  return (turned & ~kLow60) | (((low << 1) ^ (0 - (low >> 59))) & kLow60);
}
inline std::uint64_t heap_neighbour(std::uint64_t from, std::uint64_t distance) {
  const std::uint64_t low = distance & kLow60;
  return from + std::rotl((distance & ~kLow60) | (((low >> 1) ^ (0 - (low & 1))) & kLow60), 4);
}

// Most events have an address in `tensor`; these kinds have the bits of a double, which is not near any address.
inline bool has_number(lanes::EventKind kind) {
  return kind == lanes::EventKind::kValues || kind == lanes::EventKind::kScaler;
}

// Whether the event is written when it ends, after the events of what it called. Those do not predict when it began;
// the end of the event before does.
inline bool is_told_late(lanes::EventKind kind) { return kind == lanes::EventKind::kOperator; }

// The state of both ends after the events so far.
class Model {
 public:
  struct Slot {
    lanes::Event last{};
    std::uint32_t entries_step = 0;  // how the version changed last time
    std::uint32_t successor = kNoSlot;
    std::uint64_t delay = 0, duration = 0;  // running means; may wrap, like every sum here
  };

  std::uint32_t predicted_slot() const { return slot_ == kNoSlot ? kNoSlot : slots_[slot_].successor; }
  std::size_t slot_count() const { return slots_.size(); }
  std::uint32_t add_slot(lanes::EventKind kind, std::uint32_t site) {
    Slot& slot = slots_.emplace_back();
    slot.last.kind = kind;
    slot.last.site = site;
    return static_cast<std::uint32_t>(slots_.size() - 1);
  }
  const Slot& slot(std::uint32_t i) const { return slots_[i]; }
  std::uint64_t predicted_time(std::uint32_t i) const { return free_at(slots_[i].last.kind) + slots_[i].delay; }
  std::uint32_t predicted_entries(std::uint32_t i) const {
    return EventWords::entries(slots_[i].last) + slots_[i].entries_step;
  }
  std::uint32_t step() const { return step_; }
  std::uint32_t region() const { return region_; }

  // Tensors that differ from the slot's last one: by their age in the list of all tensors seen, or new.
  std::vector<std::uint64_t> tensors;
  std::uint64_t& last_new_tensor(lanes::EventKind kind) { return has_number(kind) ? last_number_ : last_address_; }

  void follow(std::uint32_t i, const lanes::Event& event) {
    Slot& slot = slots_[i];
    if (slot_ != kNoSlot) slots_[slot_].successor = i;
    slot_ = i;
    slot.delay += half(event.time - free_at(event.kind) - slot.delay);
    slot.duration += half(event.duration - slot.duration);
    slot.entries_step = EventWords::entries(event) - EventWords::entries(slot.last);
    slot.last = event;
    free_at_ = event.time + event.duration;
    if (is_told_late(event.kind)) late_free_at_ = free_at_;
    step_ = event.step;
    region_ = event.region;
  }

 private:
  std::uint64_t free_at(lanes::EventKind kind) const { return is_told_late(kind) ? late_free_at_ : free_at_; }
  static std::uint64_t half(std::uint64_t difference) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(difference) / 2);
  }

  std::vector<Slot> slots_;
  std::uint32_t slot_ = kNoSlot;    // slot of the last event
  std::uint64_t free_at_ = 0;       // end of the last event: its duration says nothing about the time until the next
  std::uint64_t late_free_at_ = 0;  // end of the last event that was told late
  std::uint32_t step_ = 0, region_ = 0;
  std::uint64_t last_address_ = 0, last_number_ = 0;  // the last new ones
};

}  // namespace castscope::wire
