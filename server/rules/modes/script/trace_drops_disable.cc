// trace-drops-disable: traced code switches autocast off for a part of itself. The trace has the operators of that part
// but not its region, so they are cast where the trace runs with autocast on, called by a script or within a region.
//
// The graph alone does not show it. The agent remembers the operators that were recorded within such a region by the
// source range that each traced node keeps in whatever graph it is copied into. For a trace that was saved and loaded,
// there is the line at which each node was recorded, and the source of that line.
#include "server/rules/evidence/mode_facts.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::trace_drops_disable {
namespace {

// Who opened the regions in which the operators are cast: a script, Python, or both.
struct Around {
  bool script = false, eager = false;
};
Around around(const store::RunData& data, const ModeFacts& facts) {
  Around found;
  for (const store::Fact* fact : facts.facts) {
    if (fact->subject == 0) continue;
    const store::Site& site = data.sites[store::SiteId(fact->subject)];
    const store::Region* region = enabled_region(data, site.region, site.device);
    found.script |= region != nullptr && region->kind == lanes::RegionKind::kScript;
    found.eager |= eager_region(data, site.region, site.device) != nullptr;
  }
  return found;
}

std::string fix_for(const store::RunData& data, const ModeFacts& facts) {
  const Around found = around(data, facts);
  const std::string off = autocast_off(device_of(data, facts));
  if (found.script && found.eager)
    return "Script this function instead of tracing it, and call what is scripted in " + off +
           ": it follows its own regions, and cannot switch off one that Python opened around its call.";
  if (found.script)
    return "Script this function instead of tracing it: within the region of a script, one with enabled=False is "
           "followed.";
  return "Call the trace in " + off +
         ". Where the rest of it is to be cast, trace that rest alone, and call this part in Python, in such a region. "
         "To script it does not help: a script cannot switch off a region that Python opened around its call.";
}

void judge_dropped_disables(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  for (const auto& [line, facts] : mode_facts(data, lanes::FactKind::kTraceDropsDisable)) {
    Finding& finding = inquiry.add(facts.first().stack);
    finding.title = operators_of(data, facts) + " was traced with autocast off" + region_in_title(data, facts) +
                    "; the trace dropped that region, and it is cast here";
    add_casts(finding, data, facts);
    if (facts.first().detail == 1) finding.evidence_text.emplace_back("known_from", "the source, as it is now");
    finding.fix = fix_for(data, facts);
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "trace-drops-disable",
    .severity = "error",
    .harm = Harm::kPrecision,
    .summary = "a trace dropped a region with autocast off, and its operators are cast",
    .thresholds = {},
    .explanation =
        {.what = "A function that uses `with torch.autocast(…, enabled=False)` was traced, and the trace "
                 "runs where autocast is on: within a region, or called by a script that has one.",
         .why = "`torch.jit.trace` records operators, not regions. What the region was there to protect "
                "runs in low precision, and the dtype of the result need not show it: an operator behind "
                "it may promote.",
         .example = R"(import torch

def helper(a, b):
    with torch.autocast("cpu", enabled=False):
        return torch.mm(a, b)

a = torch.randn(8, 8)
traced = torch.jit.trace(helper, (a, a))
with torch.autocast("cpu", dtype=torch.bfloat16):
    y, z = helper(a, a), traced(a, a)
print(y.dtype, z.dtype)  # float32, bfloat16)",
         .fix =
             "Call the trace in `torch.autocast(\"cpu\", enabled=False)`. Where it is a script that opens the region, "
             "script the function.",
         .fixed_example = R"(import torch

def helper(a, b):
    with torch.autocast("cpu", enabled=False):
        return torch.mm(a, b)

a = torch.randn(8, 8)
traced = torch.jit.trace(helper, (a, a))
with torch.autocast("cpu", dtype=torch.bfloat16):
    with torch.autocast("cpu", enabled=False):
        y, z = helper(a, a), traced(a, a)
print(y.dtype, z.dtype)  # float32, float32)",
         .links = "https://docs.pytorch.org/docs/stable/amp.html"},
    .judge = judge_dropped_disables,
};

}  // namespace castscope::rules::trace_drops_disable
