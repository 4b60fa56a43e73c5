#include "tests/bench/synthetic_job.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "agent/lanes/event_views.h"
#include "agent/lanes/lane_writer.h"
#include "agent/lanes/segment_writer.h"
#include "proto/training_stream.h"

namespace castscope::bench {
namespace {

using namespace lanes;

constexpr std::uint32_t kSites = 64;    // more than the stream uses
constexpr std::uint32_t kKernels = 16;  // numbered after the sites
constexpr std::uint32_t kFirstStream = 7;
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
             SiteDefinition{i, i, i, 0, 1, 0, i % 3 == 1 ? Role::kActivation : Role::kWeight, Cause::kAutocast,
                            i % 3 == 1 ? WhyNotCached::kNotLeaf : WhyNotCached::kNone, Phase::kForward, 6, 15, 0, 0});
    for (std::uint32_t i = 1; i <= kKernels; ++i)
      kernel(kSites + i, i % 4 == 0 ? i : 0, text("kernel_" + std::to_string(i)));
  }

 private:
  template <typename T>
  void define(DefinitionKind kind, std::uint32_t id, const T& value) {
    segment_.define(kind, id, &value, sizeof value);
  }
  // Adds a kernel for a cast, or for the operator's own computation.
  void kernel(std::uint32_t id, std::uint32_t site, std::uint32_t name) {
    define(DefinitionKind::kKernel, id, KernelDefinition{site, 0, 1, name, 0, 0, GpuWork::kKernel, 0});
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

void count_kernel(Counter& counter, const Event& event) {
  LaneWriter::add(counter.casts, 1);
  LaneWriter::add(counter.hits, event.duration);
}

// Turns an event into one of a GPU's stream, at the same time.
void to_kernel(Event& event, std::uint32_t stream) {
  const std::uint32_t number = 1 + (event.site + event.step) % kKernels;
  const Event call = event;
  event = Event{};
  event.time = call.time;
  event.duration = std::max(call.duration, 1'000u);
  event.site = kSites + number;
  event.step = call.step;
  put(event, KernelEvent{.stream = stream, .blocks = 64, .threads = 256, .correlation = 1, .waited = 5'000});
}

bool is_call(const Event& event) { return event.kind == EventKind::kCast || event.kind == EventKind::kHit; }

// One thread writes all lanes in turn. Each lane repeats the stream again and again: time, steps and regions continue
// from the end of the last round.
class Lanes {
 public:
  Lanes(SegmentWriter& segment, const SyntheticJob& job)
      : begin_(segment.now()), stream_(wire::training_stream(kStream)) {
    for (std::uint32_t i = 0; i < job.lanes; ++i) {
      One& one = lanes_.emplace_back();
      one.writer = LaneWriter(segment, *segment.acquire_lane(static_cast<std::uint32_t>(getpid()) + i));
      if (i + job.streams >= job.lanes) one.stream = kFirstStream + i;
      for (std::uint32_t site = 1; site <= kSites + kKernels; ++site) {
        one.counters.push_back(segment.new_counter(&one.writer.lane(), site));
      }
    }
  }

  void write_next(bool as_written) {
    const std::size_t number = written_++ % lanes_.size();
    One& one = lanes_[number];
    while (one.writer.lane().head.load() - one.writer.lane().tail.load() >= one.writer.lane().ring_capacity)
      sched_yield();
    const auto round = static_cast<std::uint32_t>(one.next / stream_.size());
    Event event = stream_[one.next++ % stream_.size()];
    // The steps are those of one thread; another thread's step end becomes one more hit.
    if (event.kind == EventKind::kStep && number != 0) event.kind = EventKind::kHit, event.site = 1, event.flags = 0;
    event.time = as_written ? one.writer.now() : event.time + begin_ + round * stream_.back().time;
    event.step += round * stream_.back().step;
    event.region += round * stream_.back().step + static_cast<std::uint32_t>(number << 24);
    if (one.stream != 0) to_kernel(event, one.stream);
    if (is_call(event)) count(*one.counters[event.site - 1], event);
    if (one.stream != 0) count_kernel(*one.counters[event.site - 1], event);
    *one.writer.begin_event() = event;
    one.writer.publish();
  }

 private:
  struct One {
    LaneWriter writer;
    std::uint32_t stream = 0;  // 0 = a thread
    std::vector<Counter*> counters;
    std::size_t next = 0;
  };
  const std::uint64_t begin_;
  const std::vector<Event> stream_;
  std::vector<One> lanes_;
  std::uint64_t written_ = 0;
};

void write_in_time(Lanes& lanes, const SyntheticJob& job) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const auto all = static_cast<std::uint64_t>(static_cast<double>(job.per_second) * job.seconds);
  for (std::uint64_t written = 0; written < all;) {
    const double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
    const auto due = std::min(static_cast<std::uint64_t>(elapsed * static_cast<double>(job.per_second)), all);
    for (; written < due; ++written) lanes.write_next(true);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // real jobs come in bursts, too
  }
}

}  // namespace

int run_synthetic_job(const std::string& run_directory, const SyntheticJob& job) {
  std::string error;
  SegmentWriter* segment = SegmentWriter::create({.directory = run_directory}, &error);
  if (segment == nullptr) {
    std::fprintf(stderr, "bench_pipeline: %s\n", error.c_str());
    return 1;
  }
  Definitions(*segment).write();
  Lanes lanes(*segment, job);
  for (std::uint64_t i = 0; i < job.events; ++i) lanes.write_next(job.as_written);
  if (job.per_second > 0) write_in_time(lanes, job);
  segment->mark_end(EndMark::kExited, 1);
  return 0;
}

}  // namespace castscope::bench
