// cache-never-cleared: autocast was switched on by torch.set_autocast_enabled without a context manager, weights went
// into its cache, and no thread that did so ever cleared it. Only the end of an outermost `with autocast` clears; the
// cache is one for the whole process, so the copies outlive the thread.
//
// Judged once the process has ended or two steps have passed: until then the clear may still come.
#include <map>
#include <set>

#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/region_work.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::cache_never_cleared {
namespace {

void judge_clears(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  struct Use {
    store::RegionId region = {};  // the first of the regions
    std::set<store::ProcessId> processes;
    std::uint64_t entries = 0, bytes = 0, held_bytes = 0;
  };
  std::map<Line, Use> lines;
  const auto left_on = regions_left_on(data);
  for (const store::RegionUse& use : data.region_uses) {
    const store::Process& process = data.processes[use.process];
    const bool clear_is_due = process.ended || process.gauges.present_step >= use.first_kept_step + std::uint64_t{2};
    if (use.kept == 0 || use.own_clears > 0 || !clear_is_due || left_on[use.region]) continue;
    Use& here = lines[line_of(data, data.regions[use.region].stack)];
    if (here.region == 0) here.region = use.region;
    if (here.processes.insert(use.process).second) here.held_bytes += process.gauges.cache_bytes;
    here.entries += use.kept;
    here.bytes += use.kept_bytes;
  }
  for (const auto& [line, use] : lines) {
    const store::Region& region = data.regions[use.region];
    Finding& finding = inquiry.add(region.stack);
    finding.title = "autocast switched on here filled the cache with " + std::to_string(use.entries) + " entries (" +
                    readable_bytes(use.bytes) + ") that nothing clears";
    finding.evidence_number = {{"entries", use.entries},
                               {"entry_bytes", use.bytes},
                               {"cache_bytes", use.held_bytes},
                               {"nesting", region.nesting},
                               {"process_count", use.processes.size()}};
    finding.fix =
        "Use `with torch.autocast(...)`, whose end clears the cache, or call torch.clear_autocast_cache() after each "
        "step in the thread that switched autocast on.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "cache-never-cleared",
    .severity = "warning",
    .harm = Harm::kMemory,
    .summary = "autocast is switched on in a way in which nothing clears its cache",
    .thresholds = {},
    .sees = kEvents,
    .explanation = {.what =
                        "Autocast was switched on by `torch.set_autocast_enabled` without a context manager, weights "
                        "went into its cache, and nothing cleared it.",
                    .why = "The cache is one for the whole process: the copies outlive the thread, and they go stale "
                           "when the weights change.",
                    .example = R"(import torch

layer = torch.nn.Linear(1024, 1024)
torch.set_autocast_enabled("cpu", True)
torch.set_autocast_dtype("cpu", torch.bfloat16)
y = layer(torch.randn(8, 1024)))",
                    .fix = "Use `with torch.autocast(...)`, or call `torch.clear_autocast_cache()` after each step.",
                    .fixed_example = R"(import torch

layer = torch.nn.Linear(1024, 1024)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = layer(torch.randn(8, 1024)))",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_clears,
};

}  // namespace castscope::rules::cache_never_cleared
