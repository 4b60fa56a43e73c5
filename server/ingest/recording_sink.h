// For tests: a sink that remembers what it is told, and that can be told to fail.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "server/store/run/run_sink.h"

namespace castscope::ingest {

class RecordingSink : public store::RunSink {
 public:
  struct Lane {
    store::LaneRow row;
    std::vector<lanes::Event> events;
    std::string packed;  // all blocks, one after the other
  };
  struct Process {
    store::ProcessInfo info;
    int introduced = 0;
    std::vector<std::pair<std::string, std::string>> attributes;
    std::map<std::uint32_t, store::StackInfo> stacks;
    std::map<std::uint32_t, store::ModuleInfo> modules;
    std::map<std::uint32_t, store::CallSiteInfo> call_sites;
    std::map<std::uint32_t, store::RegionInfo> regions;
    std::map<std::uint32_t, store::SiteInfo> sites;
    std::map<std::uint32_t, store::OperatorUseInfo> operator_uses;
    std::map<std::uint32_t, store::FlowInfo> flows;
    std::map<std::uint32_t, store::FactInfo> facts;
    std::map<std::uint32_t, store::KernelInfo> kernels;
    std::map<std::uint32_t, store::MatmulInfo> matmuls;
    std::map<std::uint32_t, store::ThreadInfo> threads;
    std::map<std::uint32_t, Lane> lanes;
    std::map<std::pair<std::uint32_t, std::uint32_t>, store::CounterRow> counters;  // lane, site
    store::Gauges gauges;
    store::ProcessEnd end = store::ProcessEnd::kNotSeen;
    int exit_status = -1;
    int ends = 0;
  };
  std::map<std::string, Process> processes;
  int commits = 0;
  absl::Status next_commit;     // what commit() returns
  store::LanePosition earlier;  // what position() returns
  int definitions = 0;          // calls that defined something

  Process& only() { return processes.begin()->second; }

  absl::Status process(const store::ProcessInfo& info) override {
    Process& p = processes[info.key];
    p.info = info;
    ++p.introduced;
    return absl::OkStatus();
  }
  absl::Status attribute(const std::string& key, const std::string& name, const std::string& value) override {
    processes[key].attributes.emplace_back(name, value);
    return absl::OkStatus();
  }
  absl::Status stack(const std::string& key, const store::StackInfo& s) override {
    return define(processes[key].stacks, s);
  }
  absl::Status module(const std::string& key, const store::ModuleInfo& m) override {
    return define(processes[key].modules, m);
  }
  absl::Status call_site(const std::string& key, const store::CallSiteInfo& c) override {
    return define(processes[key].call_sites, c);
  }
  absl::Status region(const std::string& key, const store::RegionInfo& r) override {
    return define(processes[key].regions, r);
  }
  absl::Status site(const std::string& key, const store::SiteInfo& s) override {
    return define(processes[key].sites, s);
  }
  absl::Status operator_use(const std::string& key, const store::OperatorUseInfo& u) override {
    return define(processes[key].operator_uses, u);
  }
  absl::Status flow(const std::string& key, const store::FlowInfo& f) override {
    return define(processes[key].flows, f);
  }
  absl::Status fact(const std::string& key, const store::FactInfo& f) override {
    return define(processes[key].facts, f);
  }
  absl::Status kernel(const std::string& key, const store::KernelInfo& k) override {
    return define(processes[key].kernels, k);
  }
  absl::Status matmul(const std::string& key, const store::MatmulInfo& m) override {
    return define(processes[key].matmuls, m);
  }
  absl::Status thread(const std::string& key, const store::ThreadInfo& t) override {
    return define(processes[key].threads, t);
  }
  absl::Status events(const std::string& key, const store::EventBlock& block) override {
    Lane& lane = processes[key].lanes[block.lane];
    lane.events.insert(lane.events.end(), block.events.begin(), block.events.end());
    lane.packed += block.packed;
    return absl::OkStatus();
  }
  absl::Status counters(const std::string& key, std::span<const store::CounterRow> rows) override {
    for (const store::CounterRow& row : rows) processes[key].counters[{row.lane, row.site}] = row;
    return absl::OkStatus();
  }
  absl::Status lanes(const std::string& key, std::span<const store::LaneRow> rows) override {
    for (const store::LaneRow& row : rows) processes[key].lanes[row.lane].row = row;
    return absl::OkStatus();
  }
  absl::Status gauges(const std::string& key, const store::Gauges& g) override {
    processes[key].gauges = g;
    return absl::OkStatus();
  }
  absl::Status process_end(const std::string& key, store::ProcessEnd end, int exit_status) override {
    Process& p = processes[key];
    p.end = end;
    p.exit_status = exit_status;
    ++p.ends;
    return absl::OkStatus();
  }
  store::LanePosition position(const std::string&, std::uint32_t) override { return earlier; }
  absl::Status commit() override {
    ++commits;
    return next_commit;
  }

 private:
  template <typename Info>
  absl::Status define(std::map<std::uint32_t, Info>& map, const Info& info) {
    ++definitions;
    map[info.id] = info;
    return absl::OkStatus();
  }
};

}  // namespace castscope::ingest
