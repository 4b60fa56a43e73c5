// For tests: a process that does what one says and is recorded the way a real one is. Counters are kept beside the
// events, as the agent keeps them, so that both can be held against each other.
//
//   TestRun run(store);
//   const auto site = run.weight("train.py", 10, "encoder.0", WhyNotCached::kView);
//   run.enter(run.region("train.py", 5)).cast(site, kTensor).cast(site, kTensor).exit();
//   run.end();
//
// What deep steps see is defined and counted alike:
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
  TestRun& lane(std::uint32_t id) {
    lane_ = id;
    return *this;
  }
  TestRun& wait(std::int64_t ns) {
    time_ += static_cast<std::uint64_t>(ns);
    return *this;
  }
  TestRun& enter(std::uint32_t region) {
    State& lane = lanes_[lane_];
    lane.open.emplace_back(++serial_, region);
    emit(lanes::EventKind::kRegionEnter, region);
    return *this;
  }
  TestRun& exit(bool clears = true) {  // the outermost one clears the cache, as PyTorch's does
    State& lane = lanes_[lane_];
    emit(lanes::EventKind::kRegionExit, lane.open.back().second);
    lane.open.pop_back();
    if (lane.open.empty() && clears) clear();
    return *this;
  }
  TestRun& clear() {
    lanes::Event& event = emit(lanes::EventKind::kCacheClear, 0);
    put(event, lanes::ClearEvent{gauges.cache_bytes, static_cast<std::uint32_t>(gauges.cache_entries)});
    gauges.cache_bytes = gauges.cache_entries = 0;
    ++gauges.cache_clears;
    return *this;
  }
  // Of a view, or a tensor made anew for each use: known by its data.
  TestRun& cast_data(std::uint32_t site, std::uint64_t data, std::uint32_t rows = 4) {
    cast(site, data);
    lanes::Event& event = lanes_[lane_].events.back();
    event.flags |= lanes::kFlagData;
    lanes::EventWords::dims(event)[0] = rows;
    event.ndim = 1;
    return *this;
  }
  TestRun& cast(std::uint32_t site, std::uint64_t tensor, bool kept = false, std::uint64_t bytes = 1000,
                std::uint32_t ns = 500) {
    lanes::Event& event = emit(lanes::EventKind::kCast, site);
    lanes::EventWords::tensor(event) = tensor;
    event.bytes = bytes;
    event.duration = ns;
    CounterRow& row = counter(site);
    event.flags = static_cast<std::uint8_t>((kept ? lanes::kFlagKept : 0) | (row.casts == 0 ? lanes::kFlagFirst : 0));
    ++row.casts;
    row.bytes += bytes;
    row.cpu_ns += ns;
    row.kept += kept;
    if (kept) {
      gauges.cache_bytes += bytes;
      ++gauges.cache_entries;
      gauges.cache_peak_bytes = std::max(gauges.cache_peak_bytes, gauges.cache_bytes);
      gauges.cache_peak_entries = std::max(gauges.cache_peak_entries, gauges.cache_entries);
    }
    return *this;
  }
  // The source of the cast before this had been written to in place so many times.
  TestRun& version(std::uint32_t version) {
    lanes::EventWords::entries(lanes_[lane_].events.back()) = version;
    return *this;
  }
  TestRun& hit(std::uint32_t site, std::uint64_t tensor) {
    lanes::EventWords::tensor(emit(lanes::EventKind::kHit, site)) = tensor;
    ++counter(site).hits;
    return *this;
  }
  TestRun& pass(std::uint32_t site, std::uint64_t times = 1) {  // counted, no event
    counter(site).passes += times;
    return *this;
  }
  TestRun& told_pass(std::uint32_t site) {  // as in a deep step
    emit(lanes::EventKind::kPass, site);
    return pass(site);
  }
  TestRun& step() {
    ++gauges.steps;
    emit(lanes::EventKind::kStep, 0);
    return *this;
  }
  // The ring was full: the lane's events since the last flush never arrive.
  TestRun& drop() {
    State& lane = lanes_[lane_];
    lane.row.dropped += lane.events.size();
    lane.events.clear();
    return *this;
  }

  // ---- what deep steps see: counted, or told as events
  TestRun& deep() {  // from here on every operator is looked at
    ++gauges.deep_steps;
    emit(lanes::EventKind::kDeep, 0).flags = 1;
    return *this;
  }
  TestRun& shallow() {
    emit(lanes::EventKind::kDeep, 0);
    return *this;
  }
  TestRun& called(std::uint32_t use, std::uint64_t times = 1, std::uint64_t bytes = 1000, std::uint64_t ns = 500) {
    CounterRow& row = counter(use);
    row.casts += times;
    row.bytes += times * bytes;
    row.cpu_ns += times * ns;
    gauges.deep_operators += times;
    gauges.deep_ns += times * 100;
    return *this;
  }
  // And told, when it ends: it began `ns` before, within so many others.
  TestRun& told(std::uint32_t use, std::uint32_t ns = 500, std::uint8_t depth = 0, std::uint64_t bytes = 1000) {
    lanes::Event& event = emit(lanes::EventKind::kOperator, use);
    event.time -= ns;
    event.duration = ns;
    event.bytes = bytes;
    event.flags = depth;
    return called(use, 1, bytes, ns);
  }
  TestRun& flowed(std::uint32_t flow, std::uint64_t times = 1) { return seen(flow, times); }
  TestRun& timed(std::uint64_t steps = 1) {  // so many deep steps whose kernels were timed
    gauges.gpu_steps += steps;
    return *this;
  }
  TestRun& launched(std::uint32_t kernel, std::uint64_t times = 1, std::uint64_t ns = 1000, std::uint64_t bytes = 0) {
    CounterRow& row = counter(kernel);
    row.casts += times;
    row.bytes += times * bytes;
    row.hits += times * ns;
    gauges.gpu_records += times;
    return *this;
  }
  // And told, by the thread that reads the driver's records, when it has long ended.
  TestRun& told_kernel(std::uint32_t kernel, std::uint32_t ns = 1000, std::uint32_t waited = 250) {
    lanes::Event& event = emit(lanes::EventKind::kKernel, kernel);
    event.time -= ns;
    event.duration = ns;
    event.step = event.step == 0 ? 0 : event.step - 1;
    put(event, lanes::KernelEvent{.stream = 7, .blocks = 64, .threads = 256, .correlation = 4711, .waited = waited});
    return launched(kernel, 1, ns);
  }
  TestRun& seen(std::uint32_t fact, std::uint64_t times = 1) {
    counter(fact).casts += times;
    return *this;
  }
  // A sample of the source of a cast, or of what an operator gave back: `most` is the largest magnitude, `even`: all
  // are of that size.
  struct Sample {
    double most = 1;
    std::uint32_t sampled = 256, not_finite = 0, zeros = 0, integers = 0, beyond = 0;
    bool even = false;
  };
  TestRun& values(std::uint32_t site_or_use, const Sample& sample) {
    lanes::Event& event = emit(lanes::EventKind::kValues, site_or_use);
    put(event, lanes::ValuesEvent{.most = sample.most,
                                  .elements = sample.sampled,
                                  .sampled = sample.sampled,
                                  .not_finite = sample.not_finite,
                                  .zeros = sample.zeros,
                                  .integers = sample.integers,
                                  .beyond = sample.beyond,
                                  .differ = !sample.even});
    return *this;
  }
  // Each takes a fact of its kind, counts it and tells of it.
  TestRun& backward(std::uint32_t fact) { return tell(lanes::EventKind::kBackward, fact); }
  TestRun& optimizer(std::uint32_t fact = 0) { return tell(lanes::EventKind::kOptimizer, fact); }
  TestRun& unscale(std::uint32_t fact) { return tell(lanes::EventKind::kScaler, fact); }
  TestRun& scaled(std::uint32_t fact) { return tell(lanes::EventKind::kScaler, fact); }
  TestRun& clipped(std::uint32_t fact) { return tell(lanes::EventKind::kScaler, fact); }
  TestRun& update(std::uint32_t fact, double before, double after) {
    tell(lanes::EventKind::kScaler, fact);
    put(lanes_[lane_].events.back(), lanes::ScalerEvent{before, after});
    return *this;
  }

  // ---- handing over
  TestRun& flush() {
    for (auto& [id, lane] : lanes_) {
      lane.row.lane = id;
      lane.row.tid = 100 + id;
      if (!lane.events.empty()) {
        const std::string packed = wire::pack(lane.events);
        ok(sink_.events(key_, {.lane = id, .events = lane.events, .packed = packed}));
      }
      lane.row.written += lane.events.size();
      lane.row.received = lane.row.next = lane.row.written;
      lane.events.clear();
      ok(sink_.lanes(key_, std::span(&lane.row, 1)));
    }
    std::vector<CounterRow> rows;
    for (const auto& [key, row] : counters_) rows.push_back(row);
    ok(sink_.counters(key_, rows));
    ok(sink_.gauges(key_, gauges));
    ok(sink_.commit());
    return *this;
  }
  void end(ProcessEnd how = ProcessEnd::kExited, int status = 0) {
    flush();
    ok(sink_.process_end(key_, how, how == ProcessEnd::kExited ? status : -1));
    ok(sink_.commit());
  }
  CounterRow& counter(std::uint32_t site) {
    CounterRow& row = counters_[{lane_, site}];
    row.lane = lane_;
    row.site = site;
    return row;
  }

 private:
  struct State {
    std::vector<lanes::Event> events;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> open;  // (serial, region)
    LaneRow row;
  };
  TestRun& tell(lanes::EventKind kind, std::uint32_t fact) {
    emit(kind, fact);
    return fact == 0 ? *this : seen(fact);
  }
  lanes::Event& emit(lanes::EventKind kind, std::uint32_t site) {
    State& lane = lanes_[lane_];
    lanes::Event& event = lane.events.emplace_back(lanes::Event{});
    event.time = time_ += 1000;
    event.kind = kind;
    event.site = site;
    event.step = static_cast<std::uint32_t>(gauges.steps);
    event.region = lane.open.empty() ? 0 : lane.open.back().first;
    return event;
  }

  std::uint32_t serial_ = 0, lane_ = 1;
  std::uint64_t time_ = 0;
  std::map<std::uint32_t, State> lanes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, CounterRow> counters_;
};

}  // namespace castscope::store
