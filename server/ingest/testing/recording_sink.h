// For tests: a sink that remembers the calls it gets, and that fails on request.
#pragma once

#include <map>
#include <set>
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
    std::map<std::uint32_t, store::Flow> flows;
    std::map<std::uint32_t, store::Fact> facts;
    std::map<std::uint32_t, store::KernelInfo> kernels;
    std::map<std::uint32_t, store::Matmul> matmuls;
    std::map<std::uint32_t, store::ThreadInfo> threads;
    std::map<std::uint32_t, Lane> lanes;
    std::map<std::pair<std::uint32_t, std::uint32_t>, store::CounterRow> counters;  // by lane, site
    store::Gauges gauges;
    store::ProcessEnd end = store::ProcessEnd::kNotSeen;
    int exit_status = -1;
    int ends = 0;
  };
  std::map<std::string, Process> processes;
  std::vector<store::Incomplete> missing;  // what incomplete() was told
  std::vector<std::string> notices;
  int commits = 0;
  absl::Status next_commit;                                            // what commit() returns
  store::LanePosition earlier;                                         // what position() returns
  std::set<std::pair<std::uint32_t, std::uint32_t>> earlier_counters;  // lane, site: for has_counter()
  store::EarlierLife earlier_life_of_run;                              // what earlier_life() returns
  std::map<std::string, store::RelayState> relays;                     // what relay() was told last
  int definitions = 0;                                                 // the number of calls that defined something

  Process& only() { return processes.begin()->second; }

  absl::Status process(const store::ProcessInfo& info) override {
    Process& p = processes[info.key];
    p.info = info;
    ++p.introduced;
    return absl::OkStatus();
  }
  absl::Status define(const std::string& key, const store::Definition& definition) override {
    std::visit([&](const auto& one) { remember(processes[key], one); }, definition);
    return absl::OkStatus();
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
  absl::Status incomplete(store::IncompleteReason reason, const std::string& process,
                          const std::string& sentence) override {
    missing.push_back({reason, process, sentence});
    return absl::OkStatus();
  }
  absl::Status notice(const std::string& sentence) override {
    notices.push_back(sentence);
    return absl::OkStatus();
  }
  store::LanePosition position(const std::string&, std::uint32_t) override { return earlier; }
  bool has_counter(const std::string&, std::uint32_t lane, std::uint32_t site) override {
    return earlier_counters.contains({lane, site});
  }
  store::EarlierLife earlier_life() override { return earlier_life_of_run; }
  absl::Status relay(const store::RelayState& state) override {
    relays[state.relay] = state;
    return absl::OkStatus();
  }
  absl::Status commit() override {
    ++commits;
    return next_commit;
  }

 private:
  static void remember(Process& p, const store::AttributeInfo& a) { p.attributes.emplace_back(a.name, a.value); }
  void remember(Process& p, const store::StackInfo& one) { add(p.stacks, one); }
  void remember(Process& p, const store::ModuleInfo& one) { add(p.modules, one); }
  void remember(Process& p, const store::CallSiteInfo& one) { add(p.call_sites, one); }
  void remember(Process& p, const store::RegionInfo& one) { add(p.regions, one); }
  void remember(Process& p, const store::SiteInfo& one) { add(p.sites, one); }
  void remember(Process& p, const store::OperatorUseInfo& one) { add(p.operator_uses, one); }
  void remember(Process& p, const store::Flow& one) { add(p.flows, one); }
  void remember(Process& p, const store::Fact& one) { add(p.facts, one); }
  void remember(Process& p, const store::KernelInfo& one) { add(p.kernels, one); }
  void remember(Process& p, const store::Matmul& one) { add(p.matmuls, one); }
  void remember(Process& p, const store::ThreadInfo& one) { add(p.threads, one); }
  template <typename Info>
  void add(std::map<std::uint32_t, Info>& map, const Info& one) {
    ++definitions;
    map[one.id] = one;
  }
};

}  // namespace castscope::ingest
