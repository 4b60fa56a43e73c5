// For tests: a process that does what one says and is recorded the way a real one is. Counters are kept beside the
// events, as the agent keeps them, so that both can be held against each other.
//
//   TestRun run(store);
//   const auto site = run.weight("train.py", 10, "encoder.0", WhyNotCached::kView);
//   run.enter(run.region("train.py", 5)).cast(site, kTensor).cast(site, kTensor).exit();
//   run.end();
//
// Operators of deep steps are defined and counted alike:
//   const auto mm = run.use({.op = "aten::mm", .line = 8, .operands = {operand(kBFloat16), operand(kFloat32)}});
//   const auto exp = run.use({.op = "aten::exp", .line = 9, .operands = {operand(kBFloat16)}});
//   run.deep().called(mm).called(exp).flowed(run.flow(mm, exp)).shallow();
#pragma once

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/lanes/event_views.h"
#include "proto/event_block.h"
#include "server/store/testing/test_definitions.h"

namespace castscope::store {

class TestRun : public TestDefinitions {
 public:
  using TestDefinitions::TestDefinitions;
  Gauges gauges;

  // ---- what the process does, in the lane chosen last (1 to begin with)
  TestRun& lane(std::uint32_t id);
  TestRun& wait(std::int64_t ns);
  TestRun& enter(std::uint32_t region);
  TestRun& exit(bool clears = true) {  // the outermost one clears the cache, as PyTorch's does
    State& lane = lanes_[lane_];
    emit(lanes::EventKind::kRegionExit, lane.open.back().second);
    lane.open.pop_back();
    if (lane.open.empty() && clears) clear();
    return *this;
  }
  TestRun& clear();
  // Casts a view, or a tensor made anew for each use, which is known by its data.
  TestRun& cast_data(std::uint32_t site, std::uint64_t data, std::uint32_t rows = 4);
  TestRun& cast(std::uint32_t site, std::uint64_t tensor, bool kept = false, std::uint64_t bytes = 1000,
                std::uint32_t ns = 500);
  // The source of the cast before this had been written to in place so many times.
  TestRun& version(std::uint32_t version);
  TestRun& hit(std::uint32_t site, std::uint64_t tensor);
  TestRun& pass(std::uint32_t site, std::uint64_t times = 1) {  // counted, no event
    counter(site).passes += times;
    return *this;
  }
  TestRun& pass_with_event(std::uint32_t site) {  // as in a deep step
    emit(lanes::EventKind::kPass, site);
    return pass(site);
  }
  TestRun& step(lanes::StepReason ended_by = {});
  // The ring was full: the lane's events since the last flush never arrive.
  TestRun& drop();

  // ---- what deep steps see: counted, or with an event as well
  TestRun& deep() {  // from here on every operator is looked at
    ++gauges.deep_steps;
    emit(lanes::EventKind::kDeep, 0).flags = 1;
    return *this;
  }
  TestRun& shallow();
  TestRun& called(std::uint32_t use, std::uint64_t times = 1, std::uint64_t bytes = 1000, std::uint64_t ns = 500);
  // And an event when it ends: it began `ns` before, within so many others.
  TestRun& called_with_event(std::uint32_t use, std::uint32_t ns = 500, std::uint8_t depth = 0,
                             std::uint64_t bytes = 1000);
  TestRun& flowed(std::uint32_t flow, std::uint64_t times = 1) { return seen(flow, times); }
  TestRun& timed(std::uint64_t steps = 1) {  // so many deep steps whose kernels were timed
    gauges.gpu_steps += steps;
    return *this;
  }
  TestRun& launched(std::uint32_t kernel, std::uint64_t times = 1, std::uint64_t ns = 1000, std::uint64_t bytes = 0);
  // And an event, by the thread that reads the driver's records, when it has long ended.
  TestRun& launched_with_event(std::uint32_t kernel, std::uint32_t ns = 1000, std::uint32_t waited = 250);
  TestRun& seen(std::uint32_t fact, std::uint64_t times = 1);
  // A sample of the source of a cast, or of what an operator gave back: `most` is the largest magnitude, `even`: all
  // are of that size.
  struct Sample {
    double most = 1;
    std::uint32_t sampled = 256, not_finite = 0, zeros = 0, integers = 0, beyond = 0;
    bool even = false, exact = false;  // of one size; held by the half
  };
  TestRun& values(std::uint32_t site_or_use, const Sample& sample);
  // A sample of an integer argument that got the dtype of a half.
  TestRun& integers(std::uint32_t use, const Sample& sample);
  // In the cast before this grad mode was off.
  TestRun& without_grad();
  // Each takes a fact of its kind, counts it and emits an event.
  TestRun& backward(std::uint32_t fact) { return seen_with_event(lanes::EventKind::kBackward, fact); }
  TestRun& optimizer(std::uint32_t fact = 0) { return seen_with_event(lanes::EventKind::kOptimizer, fact); }
  TestRun& unscale(std::uint32_t fact) { return seen_with_event(lanes::EventKind::kScaler, fact); }
  TestRun& scaled(std::uint32_t fact) { return seen_with_event(lanes::EventKind::kScaler, fact); }
  TestRun& clipped(std::uint32_t fact) { return seen_with_event(lanes::EventKind::kScaler, fact); }
  TestRun& update(std::uint32_t fact, double before, double after);
  TestRun& metric(std::uint32_t fact, double value);

  // ---- handing over
  TestRun& flush();
  void end(ProcessEnd how = ProcessEnd::kExited, int status = 0);
  CounterRow& counter(std::uint32_t site);

 private:
  struct State {
    std::vector<lanes::Event> events;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> open;  // (serial, region)
    LaneRow row;
  };
  TestRun& seen_with_event(lanes::EventKind kind, std::uint32_t fact);
  lanes::Event& emit(lanes::EventKind kind, std::uint32_t site);

  std::uint32_t serial_ = 0, lane_ = 1;
  std::uint64_t time_ = 0;
  std::map<std::uint32_t, State> lanes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, CounterRow> counters_;
};

}  // namespace castscope::store
