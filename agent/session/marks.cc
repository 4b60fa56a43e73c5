#include "agent/session/marks.h"

#include "agent/lanes/event_views.h"
#include "agent/session/process.h"

namespace castscope::agent {

void mark(ThreadState& t, lanes::EventKind kind, std::uint32_t site, std::uint8_t flags, std::uint64_t bytes,
          std::uint32_t entries) {
  lanes::Event* e = t.lane.begin_event();
  if (e == nullptr) return;
  *e = lanes::Event{};
  e->time = t.lane.now();
  e->bytes = bytes;
  e->site = site;
  e->step = g_process.recording.load()->steps.current();
  e->region = t.region_serial;
  lanes::EventWords::entries(*e) = entries;
  e->kind = kind;
  e->flags = flags;
  t.lane.publish();
}

}  // namespace castscope::agent
