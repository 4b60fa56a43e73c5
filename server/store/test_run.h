// For tests: a process that does what one says and is recorded the way a real one is. Counters are kept beside the
// events, as the agent keeps them, so that both can be held against each other.
//
//   TestRun run(store);
//   const auto site = run.weight("train.py", 10, "encoder.0", WhyNotCached::kView);
//   run.enter(run.region("train.py", 5)).cast(site, kTensor).cast(site, kTensor).exit();
//   run.end();
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "proto/event_block.h"
#include "server/store/run_sink.h"

namespace castscope::store {

class TestRun {
 public:
  explicit TestRun(RunSink& sink, std::int64_t pid = 100) : sink_(sink), key_("host/" + std::to_string(pid) + "/1/0") {
    const ProcessInfo info{.key = key_,
                           .host = "host",
                           .pid = pid,
                           .parent_pid = 1,
                           .start_ticks = 1,
                           .begin_realtime_ns = 1'795'000'001'000'000'000};
    ok(sink_.process(info));
  }
  const std::string& key() const { return key_; }
  Gauges gauges;

  // ---- definitions
  // The user's line, with torch's own frames inside it when the call goes through a module.
  std::uint32_t line(const std::string& file, std::int64_t number, bool through_module = false) {
    StackInfo stack{.id = ++stacks_, .frames = {}, .truncated = false};
    if (through_module) {
      stack.frames = {{"/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", "Linear.forward", 134},
                      {"/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", "Module._call_impl", 1790}};
    }
    stack.frames.push_back({"/home/user/project/" + file, "train", number});
    stack.frames.push_back({"/home/user/project/" + file, "<module>", 99});
    ok(sink_.stack(key_, stack));
    return stack.id;
  }
  std::uint32_t region(const std::string& file, std::int64_t number, RegionInfo more = default_region()) {
    more.id = ++regions_;
    more.stack = line(file, number);
    ok(sink_.region(key_, more));
    return more.id;
  }
  static RegionInfo default_region() {
    RegionInfo region;
    region.dtype = 15;
    region.enabled = region.cache_enabled = true;
    region.nesting = 1;
    region.kind = lanes::RegionKind::kContext;
    return region;
  }
  static RegionInfo raw_region() {
    RegionInfo region = default_region();
    region.nesting = 0;
    region.kind = lanes::RegionKind::kRaw;
    return region;
  }
  std::uint32_t module(const std::string& path, const std::string& type = "Linear", std::uint32_t number = 1) {
    const auto [it, is_new] =
        modules_.try_emplace(path + "/" + type + "/" + std::to_string(number), modules_.size() + 1);
    if (is_new)
      ok(sink_.module(key_, {.id = it->second, .path = path, .type = type, .root_type = "Net", .root_number = number}));
    return it->second;
  }
  std::uint32_t call_site(const std::string& op, std::uint32_t argument, const std::string& argument_name) {
    const auto [it, is_new] = call_sites_.try_emplace(op + "/" + argument_name, call_sites_.size() + 1);
    if (is_new) {
      ok(sink_.call_site(key_, {.id = it->second,
                                .op = op,
                                .argument = argument,
                                .argument_name = argument_name,
                                .code_address = "libtorch_cpu.so+0x" + std::to_string(1000 + it->second)}));
    }
    return it->second;
  }
  std::uint32_t site_at(std::uint32_t call_site) {
    SiteInfo info;
    info.call_site = call_site;
    info.cause = lanes::Cause::kAutocast;
    return site(info);
  }
  std::uint32_t site(SiteInfo info) {
    info.id = ++sites_;
    ok(sink_.site(key_, info));
    return info.id;
  }
  // A weight of a Linear called at this line, in the region last defined.
  std::uint32_t weight(const std::string& file, std::int64_t number, const std::string& path,
                       lanes::WhyNotCached why = lanes::WhyNotCached::kNone,
                       std::uint8_t flags = lanes::kSiteParameter) {
    return site({.stack = line(file, number, true),
                 .module = module(path),
                 .call_site = call_site("aten::linear", 1, "weight"),
                 .region = regions_,
                 .op = "",
                 .role = lanes::Role::kWeight,
                 .cause = lanes::Cause::kAutocast,
                 .why = why,
                 .phase = lanes::Phase::kForward,
                 .from = 6,
                 .to = 15,
                 .flags = flags});
  }
  std::uint32_t input(const std::string& file, std::int64_t number, const std::string& path) {
    return site({.stack = line(file, number, true),
                 .module = module(path),
                 .call_site = call_site("aten::linear", 0, "input"),
                 .region = regions_,
                 .op = "",
                 .role = lanes::Role::kInput,
                 .cause = lanes::Cause::kAutocast,
                 .why = lanes::WhyNotCached::kNoRequiresGrad,
                 .phase = lanes::Phase::kForward,
                 .from = 6,
                 .to = 15});
  }
  std::uint32_t pass_through(const std::string& op) {
    return site({.call_site = call_site(op, 0, "self"),
                 .region = regions_,
                 .op = "",
                 .cause = lanes::Cause::kAutocast,
                 .from = 15,
                 .to = 15,
                 .flags = lanes::kSitePassThrough});
  }

  // ---- what the process does, in the lane chosen last (1 to begin with)
  TestRun& lane(std::uint32_t id) {
    lane_ = id;
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
    event.bytes = gauges.cache_bytes;
    event.entries = static_cast<std::uint32_t>(gauges.cache_entries);
    gauges.cache_bytes = gauges.cache_entries = 0;
    ++gauges.cache_clears;
    return *this;
  }
  // Of a view, or a tensor made anew for each use: known by its data.
  TestRun& cast_data(std::uint32_t site, std::uint64_t data, std::uint32_t rows = 4) {
    cast(site, data);
    lanes::Event& event = lanes_[lane_].events.back();
    event.flags = lanes::kFlagData;
    event.dims[0] = rows;
    event.ndim = 1;
    return *this;
  }
  TestRun& cast(std::uint32_t site, std::uint64_t tensor, bool kept = false, std::uint64_t bytes = 1000,
                std::uint32_t ns = 500) {
    lanes::Event& event = emit(lanes::EventKind::kCast, site);
    event.tensor = tensor;
    event.bytes = bytes;
    event.duration = ns;
    event.flags = kept ? lanes::kFlagKept : 0;
    CounterRow& row = counter(site);
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
    lanes_[lane_].events.back().entries = version;
    return *this;
  }
  TestRun& hit(std::uint32_t site, std::uint64_t tensor) {
    emit(lanes::EventKind::kHit, site).tensor = tensor;
    ++counter(site).hits;
    return *this;
  }
  TestRun& pass(std::uint32_t site, std::uint64_t times = 1) {  // counted, no event
    counter(site).passes += times;
    return *this;
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
  static void ok(const absl::Status& status) { ASSERT_TRUE(status.ok()) << status.message(); }
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

  RunSink& sink_;
  std::string key_;
  std::uint32_t stacks_ = 0, regions_ = 0, sites_ = 0, serial_ = 0, lane_ = 1;
  std::uint64_t time_ = 0;
  std::map<std::string, std::uint32_t> modules_, call_sites_;
  std::map<std::uint32_t, State> lanes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, CounterRow> counters_;
};

}  // namespace castscope::store
