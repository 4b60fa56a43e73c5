// Turns what a device did, and for whom, into counters and events of the segment. Runs in the thread that reads CUPTI's
// records and asks for CUDA's events, which has a lane of its own.
#pragma once

#include <cstdint>
#include <string_view>

#include "agent/gpu/device_clock.h"
#include "agent/gpu/event_timing.h"
#include "agent/gpu/graph_nodes.h"
#include "agent/gpu/launches.h"
#include "agent/gpu/work_book.h"
#include "agent/lanes/lane_writer.h"
#include "agent/memory/own_memory.h"
#include "agent/naming/definitions.h"

namespace castscope::gpu {

class KernelCounts final : public Launches::Sink, public EventTiming::Sink {
 public:
  KernelCounts(lanes::SegmentWriter& segment, agent::Definitions& definitions, const WorkBook& book,
               GraphNodes& graph_nodes, std::uint32_t tid)
      : segment_(segment),
        definitions_(definitions),
        book_(book),
        graph_nodes_(graph_nodes),
        lane_(segment, *segment.acquire_lane(tid)) {}

  DeviceClock& clock() { return clock_; }
  lanes::LaneWriter& lane() { return lane_; }
  // The lane belongs to this thread (a definition) from here on.
  void tell_thread(std::uint32_t thread);
  // The job is in this step from `at` on (CUPTI's clock).
  void step_begins(std::uint64_t at, std::uint32_t step);

  bool place(const DeviceWork& work, std::uint64_t ticket, std::uint64_t called, bool last_chance) override;
  Placed place_cast(std::uint64_t ticket, int device, std::uint64_t ns, bool last_chance) override;

 private:
  struct Key {
    Purpose purpose;
    std::uint32_t name = 0;
    std::uint16_t device = 0;
    lanes::GpuWork work{};
    std::uint8_t flags = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  struct Counted {
    std::uint32_t id = 0;
    lanes::Counter* counter = nullptr;  // nullptr: there was no room for a counter
  };
  struct Begin {
    std::uint64_t at;
    std::uint32_t step;
  };
  std::uint32_t step_at(std::uint64_t called) const;
  std::uint32_t name_of(const DeviceWork& work);
  const Counted& counted(const Key& key);
  void write_event(const DeviceWork& work, std::uint32_t id, std::uint64_t called);

  lanes::SegmentWriter& segment_;
  agent::Definitions& definitions_;
  const WorkBook& book_;
  GraphNodes& graph_nodes_;
  lanes::LaneWriter lane_;
  DeviceClock clock_;
  memory::OwnVector<Begin> steps_;
  memory::OwnTextMap<std::uint32_t> names_;
  memory::OwnMap<Key, Counted, KeyHash> counts_;
};

}  // namespace castscope::gpu
