// For tests: makes batches as a relay does, with definitions written record by record.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "agent/lanes/event_views.h"
#include "agent/lanes/format.h"
#include "proto/castscope/v1/castscope.pb.h"
#include "proto/event_block.h"

namespace castscope::ingest {

class BatchBuilder {
 public:
  explicit BatchBuilder(const std::string& process = "host/1/1/0") { batch_.set_process_key(process); }
  operator const v1::Batch&() const { return batch_; }
  v1::Batch& batch() { return batch_; }

  BatchBuilder& sequence(std::uint64_t n) { return batch_.set_sequence(n), *this; }
  BatchBuilder& flush() { return batch_.set_flush(true), *this; }
  BatchBuilder& begin(std::int64_t pid = 1) {
    batch_.mutable_process_begin()->set_host("host");
    batch_.mutable_process_begin()->set_pid(pid);
    return *this;
  }
  BatchBuilder& raw(lanes::DefinitionKind kind, std::uint32_t id, std::string_view payload) {
    const lanes::DefinitionHeader header{static_cast<std::uint32_t>((sizeof header + payload.size() + 7) & ~7ull),
                                         static_cast<std::uint32_t>(payload.size()), kind, 0, id};
    std::string& to = *batch_.mutable_definitions();
    const std::size_t end = to.size() + header.size;
    to.append(reinterpret_cast<const char*>(&header), sizeof header);
    to += payload;
    to.resize(end);
    return *this;
  }
  template <typename T>
  BatchBuilder& define(lanes::DefinitionKind kind, std::uint32_t id, const T& payload) {
    return raw(kind, id, {reinterpret_cast<const char*>(&payload), sizeof payload});
  }
  BatchBuilder& text(std::uint32_t id, std::string_view text) { return raw(lanes::DefinitionKind::kString, id, text); }
  BatchBuilder& site(std::uint32_t id, lanes::SiteDefinition site = {}) {
    return define(lanes::DefinitionKind::kSite, id, site);
  }
  BatchBuilder& operator_use(std::uint32_t id, lanes::OperatorUseDefinition use = {},
                             const std::vector<lanes::Operand>& operands = {}) {
    use.operands = static_cast<std::uint16_t>(operands.size());
    std::string payload(reinterpret_cast<const char*>(&use), sizeof use);
    payload.append(reinterpret_cast<const char*>(operands.data()), operands.size() * sizeof(lanes::Operand));
    return raw(lanes::DefinitionKind::kOperatorUse, id, payload);
  }
  BatchBuilder& flow(std::uint32_t id, const lanes::FlowDefinition& flow) {
    return define(lanes::DefinitionKind::kFlow, id, flow);
  }
  BatchBuilder& fact(std::uint32_t id, const lanes::FactDefinition& fact) {
    return define(lanes::DefinitionKind::kFact, id, fact);
  }
  BatchBuilder& kernel(std::uint32_t id, const lanes::KernelDefinition& kernel) {
    return define(lanes::DefinitionKind::kKernel, id, kernel);
  }
  BatchBuilder& matmul(std::uint32_t id, const lanes::MatmulDefinition& matmul) {
    return define(lanes::DefinitionKind::kMatmul, id, matmul);
  }
  BatchBuilder& stack(std::uint32_t id, const std::vector<lanes::Frame>& frames) {
    const lanes::StackDefinition head{static_cast<std::uint32_t>(frames.size()), 0};
    std::string payload(reinterpret_cast<const char*>(&head), sizeof head);
    payload.append(reinterpret_cast<const char*>(frames.data()), frames.size() * sizeof(lanes::Frame));
    return raw(lanes::DefinitionKind::kStack, id, payload);
  }
  // Adds `count` casts of `site`, whose tensor is the event's number in the lane.
  BatchBuilder& casts(std::uint32_t lane, std::uint64_t first, std::uint32_t count, std::uint32_t site) {
    std::vector<lanes::Event> events(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      events[i].kind = lanes::EventKind::kCast;
      events[i].site = site;
      lanes::EventWords::tensor(events[i]) = first + i;
    }
    return this->events(lane, first, events);
  }
  BatchBuilder& events(std::uint32_t lane, std::uint64_t first, const std::vector<lanes::Event>& events) {
    v1::Events& block = *batch_.add_event_blocks();
    block.set_lane(lane);
    block.set_first_event(first);
    block.set_event_count(static_cast<std::uint32_t>(events.size()));
    block.set_packed_events(wire::pack(events));
    return *this;
  }
  BatchBuilder& counter(std::uint32_t lane, std::uint32_t site, std::uint64_t casts, std::uint64_t hits = 0) {
    v1::Counters& c = *batch_.mutable_counters();
    c.add_lane(lane);
    c.add_site(site);
    c.add_casts(casts);
    c.add_cache_hits(hits);
    for (auto* column :
         {c.mutable_pass_throughs(), c.mutable_traced(), c.mutable_bytes(), c.mutable_cpu_ns(), c.mutable_kept()})
      column->Add(0);
    return *this;
  }
  BatchBuilder& lane(std::uint32_t id, std::uint64_t written, std::uint64_t dropped = 0) {
    v1::LaneState& state = *batch_.add_lanes();
    state.set_lane(id);
    state.set_events_published(written);
    state.set_events_dropped(dropped);
    return *this;
  }
  BatchBuilder& end(v1::ProcessEndKind kind, int exit_status) {
    batch_.mutable_process_end()->set_end_kind(kind);
    batch_.mutable_process_end()->set_exit_status(exit_status);
    return *this;
  }

 private:
  v1::Batch batch_;
};

}  // namespace castscope::ingest
