#include "tests/bench/synthetic_job.h"

#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "agent/lanes/lane_writer.h"
#include "agent/lanes/segment_writer.h"
#include "proto/training_stream.h"

namespace castscope::bench {
namespace {

using namespace lanes;

constexpr std::uint32_t kSites = 64;  // more than the stream uses
constexpr std::size_t kStream = 1 << 18;

class Definitions {
 public:
  explicit Definitions(SegmentWriter& segment) : segment_(segment) {}

  void write() {
    const std::uint32_t file = text("train.py"), op = text("aten::linear"), type = text("Linear");
    define(DefinitionKind::kOperator, 1, OperatorDefinition{op});
    for (std::uint32_t i = 1; i <= kSites; ++i) {
      define(DefinitionKind::kCode, i, CodeDefinition{file, text("forward" + std::to_string(i)), 10 * i});
      struct {
        StackDefinition head;
        Frame frames[2];
      } stack{{2, 0}, {{i, 10 * i + 3}, {1, 11}}};
      define(DefinitionKind::kStack, i, stack);
      define(DefinitionKind::kModule, i, ModuleDefinition{text("layers." + std::to_string(i)), type, type, 1});
      define(DefinitionKind::kCallSite, i, CallSiteDefinition{1, i % 3, text("weight"), 0});
    }
    define(DefinitionKind::kRegion, 1, RegionDefinition{1, 0, 1, 0, 15, 1, 1, RegionKind::kContext, 0, {}});
    for (std::uint32_t i = 1; i <= kSites; ++i)
      define(DefinitionKind::kSite, i,
             SiteDefinition{i, i, i, 0, 1, i % 3 == 1 ? Role::kActivation : Role::kWeight, Cause::kAutocast,
                            i % 3 == 1 ? WhyNotCached::kNotLeaf : WhyNotCached::kNone, Phase::kForward, 6, 15, 0, 0});
  }

 private:
  template <typename T>
  void define(DefinitionKind kind, std::uint32_t id, const T& value) {
    segment_.define(kind, id, &value, sizeof value);
  }
  std::uint32_t text(const std::string& value) {
    segment_.define(DefinitionKind::kString, ++strings_, value.data(), static_cast<std::uint32_t>(value.size()));
    return strings_;
  }
  SegmentWriter& segment_;
  std::uint32_t strings_ = 0;
};

void count(Counter& counter, const Event& event) {
  LaneWriter::add(event.kind == EventKind::kHit ? counter.hits : counter.casts, 1);
  LaneWriter::add(counter.bytes, event.bytes);
  LaneWriter::add(counter.ticks, event.duration);
}

bool is_call(const Event& event) { return event.kind == EventKind::kCast || event.kind == EventKind::kHit; }

// The stream again and again: time and steps go on from where the last round ended.
void write_events(LaneWriter& lane, const std::vector<Counter*>& counters, std::uint64_t wanted) {
  const std::vector<Event> stream = wire::training_stream(kStream);
  const std::uint64_t round_time = stream.back().time;
  const std::uint32_t round_steps = stream.back().step;
  const std::uint64_t begin = lane.now();
  for (std::uint64_t i = 0; i < wanted; ++i) {
    while (lane.lane().head.load() - lane.lane().tail.load() >= lane.lane().ring_capacity) sched_yield();
    const auto round = static_cast<std::uint32_t>(i / stream.size());
    Event event = stream[i % stream.size()];
    event.time += begin + round * round_time;
    event.step += round * round_steps;
    event.region += round * round_steps;
    if (is_call(event)) count(*counters[event.site], event);
    *lane.begin_event() = event;
    lane.publish();
  }
}

}  // namespace

int run_synthetic_job(const std::string& run_directory, std::uint64_t events) {
  std::string error;
  SegmentWriter* segment = SegmentWriter::create({.directory = run_directory}, &error);
  if (segment == nullptr) {
    std::fprintf(stderr, "bench_pipeline: %s\n", error.c_str());
    return 1;
  }
  Definitions(*segment).write();
  LaneWriter lane(*segment, *segment->acquire_lane(static_cast<std::uint32_t>(getpid())));
  std::vector<Counter*> counters(kSites + 1);
  for (std::uint32_t i = 1; i <= kSites; ++i) counters[i] = segment->new_counter(&lane.lane(), i);
  write_events(lane, counters, events);
  segment->mark_end(EndMark::kExited, 1);
  return 0;
}

}  // namespace castscope::bench
