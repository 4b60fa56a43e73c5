#include "server/store/testing/test_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "proto/event_block.h"

namespace castscope::store {

TestRun& TestRun::lane(std::uint32_t id) {
  lane_ = id;
  return *this;
}

TestRun& TestRun::wait(std::int64_t ns) {
  time_ += static_cast<std::uint64_t>(ns);
  return *this;
}

TestRun& TestRun::enter(std::uint32_t region) {
  State& lane = lanes_[lane_];
  lane.open.emplace_back(++serial_, region);
  emit(lanes::EventKind::kRegionEnter, region);
  return *this;
}

TestRun& TestRun::clear() {
  lanes::Event& event = emit(lanes::EventKind::kCacheClear, 0);
  put(event, lanes::ClearEvent{gauges.cache_bytes, static_cast<std::uint32_t>(gauges.cache_entries)});
  gauges.cache_bytes = gauges.cache_entries = 0;
  ++gauges.cache_clears;
  return *this;
}

TestRun& TestRun::cast_data(std::uint32_t site, std::uint64_t data, std::uint32_t rows) {
  cast(site, data);
  lanes::Event& event = lanes_[lane_].events.back();
  event.flags |= lanes::kFlagData;
  lanes::EventWords::dims(event)[0] = rows;
  event.ndim = 1;
  return *this;
}

TestRun& TestRun::cast(std::uint32_t site, std::uint64_t tensor, bool kept, std::uint64_t bytes, std::uint32_t ns) {
  lanes::Event& event = emit(lanes::EventKind::kCast, site);
  lanes::EventWords::tensor(event) = tensor;
  event.bytes = bytes;
  event.duration = ns;
  CounterRow& row = counter(site);
  event.flags = static_cast<std::uint8_t>((kept ? lanes::kFlagKept | lanes::kFlagGradMode : 0) |
                                          (row.casts == 0 ? lanes::kFlagFirst : 0));
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

TestRun& TestRun::without_grad() {
  std::uint8_t& flags = lanes_[lane_].events.back().flags;
  flags = static_cast<std::uint8_t>(flags & ~lanes::kFlagGradMode);
  return *this;
}

TestRun& TestRun::integers(std::uint32_t use, const Sample& sample) {
  values(use, sample);
  lanes_[lane_].events.back().flags |= lanes::kFlagArgument;
  return *this;
}

TestRun& TestRun::version(std::uint32_t version) {
  lanes::EventWords::entries(lanes_[lane_].events.back()) = version;
  return *this;
}

TestRun& TestRun::hit(std::uint32_t site, std::uint64_t tensor) {
  lanes::EventWords::tensor(emit(lanes::EventKind::kHit, site)) = tensor;
  ++counter(site).hits;
  return *this;
}

TestRun& TestRun::step(lanes::StepReason ended_by) {
  ++gauges.present_step;
  emit(lanes::EventKind::kStep, 0).flags = static_cast<std::uint8_t>(ended_by);
  return *this;
}

TestRun& TestRun::drop() {
  State& lane = lanes_[lane_];
  lane.row.dropped += lane.events.size();
  lane.events.clear();
  return *this;
}

TestRun& TestRun::shallow() {
  emit(lanes::EventKind::kDeep, 0);
  return *this;
}

TestRun& TestRun::called(std::uint32_t use, std::uint64_t times, std::uint64_t bytes, std::uint64_t ns) {
  CounterRow& row = counter(use);
  row.casts += times;
  row.bytes += times * bytes;
  row.cpu_ns += times * ns;
  gauges.deep_operators += times;
  gauges.deep_ns += times * 100;
  return *this;
}

TestRun& TestRun::called_with_event(std::uint32_t use, std::uint32_t ns, std::uint8_t depth, std::uint64_t bytes) {
  lanes::Event& event = emit(lanes::EventKind::kOperator, use);
  event.time -= ns;
  event.duration = ns;
  event.bytes = bytes;
  event.flags = depth;
  return called(use, 1, bytes, ns);
}

TestRun& TestRun::launched(std::uint32_t kernel, std::uint64_t times, std::uint64_t ns, std::uint64_t bytes) {
  CounterRow& row = counter(kernel);
  row.casts += times;
  row.bytes += times * bytes;
  row.hits += times * ns;
  gauges.gpu_records += times;
  return *this;
}

TestRun& TestRun::launched_with_event(std::uint32_t kernel, std::uint32_t ns, std::uint32_t waited) {
  lanes::Event& event = emit(lanes::EventKind::kKernel, kernel);
  event.time -= ns;
  event.duration = ns;
  event.step = event.step == 0 ? 0 : event.step - 1;
  put(event, lanes::KernelEvent{.stream = 7, .blocks = 64, .threads = 256, .correlation = 4711, .waited = waited});
  return launched(kernel, 1, ns);
}

TestRun& TestRun::seen(std::uint32_t fact, std::uint64_t times) {
  counter(fact).casts += times;
  return *this;
}

TestRun& TestRun::values(std::uint32_t site_or_use, const Sample& sample) {
  lanes::Event& event = emit(lanes::EventKind::kValues, site_or_use);
  put(event, lanes::ValuesEvent{.most = sample.most,
                                .elements = sample.sampled,
                                .sampled = sample.sampled,
                                .not_finite = sample.not_finite,
                                .zeros = sample.zeros,
                                .integers = sample.integers,
                                .beyond = sample.beyond,
                                .differ = !sample.even,
                                .rounds = sample.integers > 0 && !sample.exact});
  return *this;
}

TestRun& TestRun::update(std::uint32_t fact, double before, double after) {
  seen_with_event(lanes::EventKind::kScaler, fact);
  put(lanes_[lane_].events.back(), lanes::ScalerEvent{before, after});
  return *this;
}

TestRun& TestRun::metric(std::uint32_t fact, double value) {
  seen_with_event(lanes::EventKind::kMetric, fact);
  put(lanes_[lane_].events.back(), lanes::MetricEvent{value});
  return *this;
}

TestRun& TestRun::flush() {
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

void TestRun::end(ProcessEnd how, int status) {
  flush();
  ok(sink_.process_end(key_, how, how == ProcessEnd::kExited ? status : -1));
  ok(sink_.commit());
}

CounterRow& TestRun::counter(std::uint32_t site) {
  CounterRow& row = counters_[{lane_, site}];
  row.lane = lane_;
  row.site = site;
  return row;
}

TestRun& TestRun::seen_with_event(lanes::EventKind kind, std::uint32_t fact) {
  emit(kind, fact);
  return fact == 0 ? *this : seen(fact);
}

lanes::Event& TestRun::emit(lanes::EventKind kind, std::uint32_t site) {
  State& lane = lanes_[lane_];
  lanes::Event& event = lane.events.emplace_back(lanes::Event{});
  event.time = time_ += 1000;
  event.kind = kind;
  event.site = site;
  event.step = static_cast<std::uint32_t>(gauges.present_step);
  event.region = lane.open.empty() ? 0 : lane.open.back().first;
  return event;
}

}  // namespace castscope::store
