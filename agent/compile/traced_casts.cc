// Casts of tensors without values: what autocast and the user's code cast while the code is traced.
#include <exception>

#include "agent/casts/role.h"
#include "agent/casts/seen_in_trace.h"
#include "agent/compile/compile.h"
#include "agent/compile/graphs.h"
#include "agent/compile/log_records.h"
#include "agent/compile/trace_log.h"
#include "agent/session/facts.h"
#include "agent/session/process.h"
#include "agent/torch/autocast_state.h"

namespace castscope::compile {
namespace {

using agent::g_process;
using agent::Recording;

// Where the innermost enabled region was entered, if that was while code was traced and it asked for no dtype.
std::uint32_t default_dtype_stack(const agent::ThreadState& t, std::uint8_t device) {
  if (t.open.empty()) return 0;
  const agent::OpenRegion& region = t.open.back();
  const bool by_default = region.device == device && region.enabled && (region.asked & lanes::kRegionDefaultDtype) != 0;
  return by_default && region.in_trace ? region.stack : 0;
}

TracedSite site_of(const agent::MayWait& may_wait, const agent::ThreadState& t, const agent::SeenInTrace& seen,
                   Present&& present) {
  Recording& r = *g_process.recording.load();
  TracedSite site;
  site.cast.users = seen.users;
  site.cast.from = seen.from;
  site.cast.to = seen.to;
  site.cast.subclass = seen.subclass;
  for (const CodeLine& frame : present.stack) site.cast.places.push_back({frame.file, frame.line});
  site.stack = std::move(present.stack);
  site.region = seen.region;
  site.device = seen.device;
  site.parameter = seen.parameter;
  lanes::Cause cause = lanes::Cause::kUserTo;
  if (!seen.users) {
    const agent::CallSite called = r.call_sites.find(seen.call_site, seen.caller, seen.tensor);
    site.cast.op = site.op = called.op;
    site.argument = called.position;
    site.argument_name = called.argument;
    cause = lanes::Cause::kAutocast;
  }
  agent::CallFacts facts;
  facts.from = seen.from;
  facts.to = seen.to;
  facts.cause = cause;
  facts.phase = lanes::Phase::kForward;
  facts.requires_grad = seen.requires_grad;
  facts.leaf = seen.leaf;
  facts.view = seen.view;
  facts.parameter = seen.parameter;
  facts.grad_mode = seen.grad_mode;
  site.default_dtype_stack = default_dtype_stack(t, seen.device);
  site.role = role_of(may_wait, facts, cause, site.op, site.argument_name, agent::RawStack(), seen.tensor);
  return site;
}

// A region in the code itself becomes a part of what is exported; one around the call does not.
void note_export(const agent::MayWait& may_wait, agent::ThreadState& t, const agent::SeenInTrace& seen,
                 const Present& present) {
  if (seen.users || seen.region == 0 || (!t.open.empty() && t.open.back().in_trace)) return;
  note_fact(may_wait, t,
            {.kind = lanes::FactKind::kExportDropsRegion,
             .detail = static_cast<std::uint16_t>(present.phase == Phase::kExportedAgain ? 1 : 0),
             .subject = seen.region,
             .stack = g_process.recording.load()->definitions.stack(present.stack)});
}

}  // namespace

std::uint32_t followed_stack(const agent::MayWait& may_wait) noexcept try {
  Present present;
  {
    agent::Gil gil(may_wait, g_process.python);
    if (!gil.held() || !ask(gil, g_process.python, false, &take_logged, present)) return 0;
  }
  return present.phase == Phase::kDynamo ? g_process.recording.load()->definitions.stack(present.stack) : 0;
} catch (const std::exception&) {
  return 0;
}

void cast_traced(const agent::MayWait& may_wait, agent::ThreadState& t, const agent::SeenInTrace& seen) noexcept try {
  if (!g_process.has_python) return;
  const bool backward = agent::in_backward();
  if (backward && seen.users) return;  // it is autograd's own cast
  Present present;
  {
    agent::Gil gil(may_wait, g_process.python);
    if (!gil.held() || !ask(gil, g_process.python, backward, &take_logged, present)) return;
  }
  if (present.phase == Phase::kExport || present.phase == Phase::kExportedAgain)
    return note_export(may_wait, t, seen, present);
  // Every compilation shows the casts of the forward pass while Dynamo looks at it; those of the backward pass show
  // only in the graph's trace.
  const bool counts = backward ? present.phase == Phase::kGraph : present.phase == Phase::kDynamo;
  if (!counts || present.decomposed) return;
  const Compilation of = present.of;
  const bool ambient = t.open.empty() || !t.open.back().in_trace;  // custom_bwd opens a region of its own
  TracedSite site = site_of(may_wait, t, seen, std::move(present));
  site.ambient = ambient;
  add_traced(of, backward ? Part::kBackward : Part::kForward, std::move(site));
} catch (const std::exception&) {  // out of memory: it is taken for a cast of the graph's own
}

}  // namespace castscope::compile
