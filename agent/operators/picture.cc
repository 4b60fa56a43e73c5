#include "agent/operators/picture.h"

#include <algorithm>

#include "agent/casts/cast_record.h"

namespace castscope::operators {
namespace {

lanes::Event* begin_event(agent::ThreadState& t, lanes::EventKind kind, std::uint32_t site) {
  lanes::Event* e = t.lane.begin_picture_event();
  if (e == nullptr) return nullptr;
  *e = lanes::Event{};
  e->kind = kind;
  e->site = site;
  e->step = agent::g_process.recording.load(std::memory_order_relaxed)->steps.current();
  e->region = t.region_serial;
  return e;
}

}  // namespace

void tell_operator(agent::ThreadState& t, const ThreadOperators& o, const OpenUse& use, std::uint32_t id,
                   std::uint64_t bytes, std::uint64_t ticks) {
  lanes::Event* e = begin_event(t, lanes::EventKind::kOperator, id);
  if (e == nullptr) return;
  e->time = use.begin;
  e->duration = lanes::LaneWriter::saturate(ticks);
  e->bytes = bytes;
  e->flags = static_cast<std::uint8_t>(std::count_if(o.uses.begin(), o.uses.begin() + o.used,
                                                     [](const OpenUse& around) { return around.place != nullptr; }));
  t.lane.publish();
}

void pass_made(agent::ThreadState& t, const void* source, std::uint32_t site) {
  const std::uint64_t now = t.lane.now();
  if (lanes::Event* e = begin_event(t, lanes::EventKind::kPass, site)) {
    e->time = now;
    agent::describe(*e, static_cast<const c10::TensorImpl*>(source));
    t.lane.publish();
  }
  lanes::SegmentHeader& header = agent::g_process.recording.load(std::memory_order_relaxed)->segment.header();
  header.deep_ticks.fetch_add(t.lane.now() - now, std::memory_order_relaxed);
}

}  // namespace castscope::operators
