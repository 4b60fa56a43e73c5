// What both ends of an event block know after the events so far, and the columns in which they note the differences.
// Only event_block_pack.cc and event_block_unpack.cc include this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/lanes/format.h"

namespace castscope::wire {

enum Column {
  kCodes,
  kKeys,
  kMasks,
  kTimeClasses,
  kDurationClasses,
  kDims,
  kBytes,
  kTensors,
  kSteps,
  kRegions,
  kEntries,
  kFlags,
  kColumns
};

// All columns of one event at their widest, in the order above: 5 + 6 + 1 + 1 + 1 + 21 + 10 + 11 + 5 + 5 + 5 + 1.
inline constexpr std::size_t kMostColumnBytesPerEvent = 72;
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

// What both ends know after the events so far.
class Model {
 public:
  struct Slot {
    lanes::Event last{};
    std::uint32_t entries_step = 0;  // how the version moved last time
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
  std::uint64_t predicted_time(std::uint32_t i) const { return time_ + slots_[i].delay; }
  std::uint32_t predicted_entries(std::uint32_t i) const { return slots_[i].last.entries + slots_[i].entries_step; }
  std::uint32_t step() const { return step_; }
  std::uint32_t region() const { return region_; }

  // Tensors that differ from the slot's last one: by their age in the list of all tensors seen, or new.
  std::vector<std::uint64_t> tensors;
  std::uint64_t last_new_tensor = 0;

  void follow(std::uint32_t i, const lanes::Event& event) {
    Slot& slot = slots_[i];
    if (slot_ != kNoSlot) slots_[slot_].successor = i;
    slot_ = i;
    slot.delay += quarter(event.time - time_ - slot.delay);
    slot.duration += quarter(event.duration - slot.duration);
    slot.entries_step = event.entries - slot.last.entries;
    slot.last = event;
    time_ = event.time;
    step_ = event.step;
    region_ = event.region;
  }

 private:
  static std::uint64_t quarter(std::uint64_t difference) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(difference) / 4);
  }

  std::vector<Slot> slots_;
  std::uint32_t slot_ = kNoSlot;  // of the last event
  std::uint64_t time_ = 0;
  std::uint32_t step_ = 0, region_ = 0;
};

}  // namespace castscope::wire
