// cache-cleared-midway: the end of a thread's outermost region cleared the copies that another thread's open region had
// put into the autocast cache. The process has one cache, but the nesting is counted per thread. No result becomes
// wrong: the other thread casts its weights again.
#include <map>

#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::cache_cleared_midway {
namespace {

void judge_clears(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  struct Group {
    store::StackId stack = {};
    std::uint64_t times = 0, exited = 0;
  };
  std::map<Line, Group> places;
  for (const store::RegionUse& use : data.region_uses) {
    if (use.cleared_midway == 0) continue;
    const store::StackId stack = data.regions[use.region].stack;
    Group& group = places[line_of(data, stack)];
    group.stack = stack;
    group.times += use.cleared_midway;
    group.exited += use.exited;
  }
  for (const auto& [place, group] : places) {
    Finding& finding = inquiry.add(group.stack);
    finding.title = "the end of this region clears the autocast cache while another thread's region is open (" +
                    counted(group.times, "time") + ")";
    finding.evidence_number = {{"cleared_midway", group.times}, {"exited", group.exited}};
    finding.fix =
        "Results stay right, but the other thread casts its weights again after each of these clears. Where that "
        "costs, "
        "let this region begin after the other thread's has ended, or end when that ends.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "cache-cleared-midway",
    .severity = "info",
    .summary = "one thread's region ends and clears the cache under another thread's open region",
    .thresholds = {},
    .sees = kEvents,
    .explanation = {.what = "A thread left its outermost autocast region while another thread was in one.",
                    .why = "All threads share one autocast cache, and the end of any thread's outermost region clears "
                           "it. The other thread casts its weights again: no error, but time.",
                    .example = R"(import threading
import torch

layer, x = torch.nn.Linear(1024, 1024), torch.randn(1, 1024)

def work():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        layer(x)

thread = threading.Thread(target=work)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = layer(x)
    thread.start()
    thread.join()
    z = layer(x)  # casts its weight again)",
                    .fix = "Where the casts cost much, let a helper thread's region begin after the main thread's has "
                           "ended, or end when that ends.",
                    .fixed_example = R"(import threading
import torch

layer, x = torch.nn.Linear(1024, 1024), torch.randn(1, 1024)

def work():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        layer(x)

thread = threading.Thread(target=work)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = layer(x)
    z = layer(x)
thread.start()
thread.join())",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_clears,
};

}  // namespace castscope::rules::cache_cleared_midway
