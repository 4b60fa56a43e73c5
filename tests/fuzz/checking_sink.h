// A sink that remembers what it is given, and holds everyone who calls it to what RunSink says of its calls
// (server/store/run/run_sink.h).
#pragma once

#include <array>
#include <set>
#include <string>
#include <utility>

#include "proto/event_block.h"
#include "server/ingest/testing/recording_sink.h"
#include "server/ingest/validation/bounds.h"
#include "server/utf8/utf8.h"
#include "tests/fuzz/fuzzer.h"

namespace castscope::fuzz {

class CheckingSink final : public ingest::RecordingSink {
 public:
  absl::Status process(const store::ProcessInfo& info) override {
    check_text(info.key);
    check_text(info.host);
    CASTSCOPE_PROMISE(!processes.contains(info.key), "a process is introduced once");
    CASTSCOPE_PROMISE(info.pid >= 0 && info.parent_pid >= 0 && info.begin_realtime_ns >= 0, "numbers are not negative");
    return RecordingSink::process(info);
  }
  absl::Status define(const std::string& key, const store::Definition& definition) override {
    check_known(key);
    std::visit([&](const auto& one) { check(processes[key], one); }, definition);
    return RecordingSink::define(key, definition);
  }
  absl::Status events(const std::string& key, const store::EventBlock& block) override {
    check_known(key);
    std::vector<lanes::Event> packed;
    const absl::Status status = wire::unpack(block.packed, block.events.size(), &packed);
    CASTSCOPE_PROMISE(status.ok() && packed.size() == block.events.size(), "the packed events are the block's");
    for (const lanes::Event& event : block.events)
      CASTSCOPE_PROMISE(wire::is_possible(event), "a sink is given events that a file can hold");
    return RecordingSink::events(key, block);
  }
  absl::Status counters(const std::string& key, std::span<const store::CounterRow> rows) override {
    check_known(key);
    for (const store::CounterRow& row : rows) {
      CASTSCOPE_PROMISE(row.site == 0 || numbered_.contains({key, row.site}), "a counter's number was defined");
      store::CounterRow& known = processes[key].counters[{row.lane, row.site}];
      add_up(known, row);
      known = row;  // the lane's overflow may come twice in one call
    }
    return absl::OkStatus();
  }
  absl::Status lanes(const std::string& key, std::span<const store::LaneRow> rows) override {
    check_known(key);
    for (const store::LaneRow& row : rows) {
      const store::LaneRow known = processes[key].lanes[row.lane].row;
      CASTSCOPE_PROMISE(row.written >= known.written && row.dropped >= known.dropped, "counts of a lane never fall");
      CASTSCOPE_PROMISE(row.received == processes[key].lanes[row.lane].events.size(), "received events were received");
      CASTSCOPE_PROMISE(row.received <= row.next && row.next <= row.written, "an event was written before it is told");
      grow(sums_[7], known.written, row.written);
      grow(sums_[8], known.dropped, row.dropped);
    }
    return RecordingSink::lanes(key, rows);
  }
  absl::Status process_end(const std::string& key, store::ProcessEnd end, int exit_status) override {
    check_known(key);
    CASTSCOPE_PROMISE(end <= store::ProcessEnd::kVanished, "an end is of a known kind");
    CASTSCOPE_PROMISE(exit_status >= -1 && exit_status <= 255, "an exit status is one");
    return RecordingSink::process_end(key, end, exit_status);
  }
  absl::Status incomplete(store::IncompleteReason reason, const std::string& process,
                          const std::string& sentence) override {
    CASTSCOPE_PROMISE(!sentence.empty(), "what is missing has a sentence");
    check_text(sentence);
    return RecordingSink::incomplete(reason, process, sentence);
  }
  absl::Status notice(const std::string& sentence) override {
    check_text(sentence);
    return RecordingSink::notice(sentence);
  }
  // The sums that the file's readers make.
  const std::array<std::uint64_t, 9>& sums() const { return sums_; }

 private:
  static void check_text(const std::string& text) {
    CASTSCOPE_PROMISE(utf8::repaired(text) == text, "a sink is given texts in UTF-8");
  }
  void check_known(const std::string& key) {
    CASTSCOPE_PROMISE(processes.contains(key), "a process is introduced before anything else is said of it");
  }
  template <typename Map>
  static void refers(const Map& map, std::uint32_t id) {
    CASTSCOPE_PROMISE(id == 0 || map.contains(id), "a definition refers to what was defined before it");
  }
  static void check(const Process&, const store::AttributeInfo& info) { check_text(info.name), check_text(info.value); }
  static void check(const Process&, const store::StackInfo& info) {
    for (const store::CodeLocation& at : info.frames) check_text(at.file), check_text(at.function);
  }
  static void check(const Process&, const store::ModuleInfo& info) {
    check_text(info.path), check_text(info.type), check_text(info.root_type);
  }
  static void check(const Process&, const store::CallSiteInfo& info) {
    check_text(info.op), check_text(info.argument_name), check_text(info.code_address);
  }
  static void check(const Process& of, const store::RegionInfo& info) {
    refers(of.stacks, info.stack), refers(of.regions, info.parent);
  }
  void check(const Process& of, const store::SiteInfo& info) {
    refers(of.stacks, info.stack), refers(of.modules, info.module), refers(of.call_sites, info.call_site);
    refers(of.regions, info.region), refers(of.sites, info.forward_site);
    check_text(info.op);
    note(of, info.id);
  }
  void check(const Process& of, const store::OperatorUseInfo& info) {
    refers(of.stacks, info.stack), refers(of.modules, info.module), refers(of.regions, info.region);
    check_text(info.op), check_text(info.node);
    CASTSCOPE_PROMISE(info.operands.size() <= lanes::kMostOperands, "an operator has no more operands than it may");
    note(of, info.id);
  }
  void check(const Process& of, const store::KernelInfo& info) {
    refers(of.sites, info.site), refers(of.operator_uses, info.use);
    check_text(info.op), check_text(info.name), check_text(info.origin);
    note(of, info.id);
  }
  static void check(const Process&, const store::ThreadInfo& info) { check_text(info.name); }
  void check(const Process& of, const auto& row) { note(of, static_cast<std::uint32_t>(row.id)); }
  void note(const Process& of, std::uint32_t number) { numbered_.insert({of.info.key, number}); }

  void add_up(const store::CounterRow& known, const store::CounterRow& row) {
    std::size_t column = 0;
    for (const auto count :
         {&store::CounterRow::casts, &store::CounterRow::hits, &store::CounterRow::passes, &store::CounterRow::traced,
          &store::CounterRow::bytes, &store::CounterRow::cpu_ns, &store::CounterRow::kept}) {
      CASTSCOPE_PROMISE(row.*count >= known.*count, "counts never fall");
      grow(sums_[column++], known.*count, row.*count);
    }
  }
  static void grow(std::uint64_t& sum, std::uint64_t before, std::uint64_t now) {
    CASTSCOPE_PROMISE(now - before <= ingest::kMostCount - sum, "no sum of the run is beyond 2^63 - 1");
    sum += now - before;
  }

  std::set<std::pair<std::string, std::uint32_t>> numbered_;  // by process: what counters may count
  std::array<std::uint64_t, 9> sums_{};
};

}  // namespace castscope::fuzz
