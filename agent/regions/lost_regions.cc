#include "agent/regions/lost_regions.h"

#include <algorithm>
#include <string>

#include "agent/session/call_stack.h"
#include "agent/session/facts.h"
#include "agent/torch/torch_python.h"
#include "agent/torchscript/misplaced.h"

namespace castscope::agent {
namespace {

// Removes the frames that the tracer runs, and the tracer's own.
void cut_to_tracer(Definitions& definitions, RawStack& raw) {
  std::uint32_t first = raw.depth;
  for (std::uint32_t i = 0; i < raw.depth; ++i)
    if (traces_code(definitions.place(raw.frames[i].code).file)) first = i + 1;
  raw.hash = mix(raw.hash, first, raw.depth);
  std::copy(raw.frames + first, raw.frames + raw.depth, raw.frames);
  raw.depth -= first;
}

}  // namespace

void tell_lost_region(const MayWait& may_wait, ThreadState& t, const script::Region& region) {
  Definitions& definitions = g_process.recording.load()->definitions;
  RawStack raw;
  capture_stack(t, raw);
  definitions.pin(may_wait, raw);
  cut_to_tracer(definitions, raw);
  const std::string place = script::place_text(region);
  note_fact(may_wait, t,
            {.kind = lanes::FactKind::kTraceDropsRegion, .text = place, .stack = definitions.stack(may_wait, raw)});
}

}  // namespace castscope::agent
