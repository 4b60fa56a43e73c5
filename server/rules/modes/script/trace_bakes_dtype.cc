// trace-bakes-dtype: code was traced in a region, so that the casts of eager autocast were recorded as if the user had
// written them; and the trace ran outside of such a region, or in one of another dtype.
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_join.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::trace_bakes_dtype {
namespace {

struct Baked {
  const store::Site* site = nullptr;
  std::uint64_t casts = 0;
  std::set<std::string> where;
};

void judge_baked_casts(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  std::map<Line, Baked> at;
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    if (!site.baked() || !is_low(site.to) || use.counts.casts == 0) continue;
    const store::Region* region = enabled_region(data, site.region, site.device);
    if (region != nullptr && region->dtype == site.to) continue;
    if (site.flags & lanes::kSiteTracing) continue;  // torch.jit.trace checks its own trace
    Baked& baked = at[line_of(data, site.stack)];
    if (baked.site == nullptr) baked.site = &site;
    baked.casts += use.counts.casts;
    baked.where.insert(region == nullptr ? "outside of any region"
                                         : "in a region of " + std::string(store::dtype_name(region->dtype)));
  }
  for (const auto& [line, baked] : at) {
    Finding& finding = inquiry.add(baked.site->stack);
    const std::string to(store::dtype_name(baked.site->to));
    const std::string runs = absl::StrJoin(baked.where, " and ");
    finding.title =
        short_name(baked.site->op) + " was traced in a region: the trace casts it to " + to + " " + runs + " too";
    finding.evidence_number = {{"casts", baked.casts}};
    finding.evidence_text = {{"to_dtype", to}, {"runs_where", runs}};
    finding.fix = "Trace outside of autocast, and open the region where the trace is called.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "trace-bakes-dtype",
    .severity = "warning",
    .harm = Harm::kPrecision,
    .summary = "a trace that was made in a region casts wherever it runs",
    .thresholds = {},
    .explanation = {.what = "A function was traced within an autocast region (with cache_enabled=False), and the "
                            "trace was called outside of one, or in one of another dtype.",
                    .why = "Each cast that autocast made while tracing is an ordinary conversion in the trace, with "
                           "that dtype as a constant.",
                    .example = R"(import torch

def product(a, b):
    return torch.mm(a, b)

a = torch.randn(8, 8)
with torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False):
    traced = torch.jit.trace(product, (a, a))
y = traced(a, a)
print(y.dtype)  # torch.bfloat16)",
                    .fix = "Trace outside of the region.",
                    .fixed_example = R"(import torch

def product(a, b):
    return torch.mm(a, b)

a = torch.randn(8, 8)
traced = torch.jit.trace(product, (a, a))
with torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False):
    y = traced(a, a)
print(y.dtype)  # torch.bfloat16)",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html"},
    .judge = judge_baked_casts,
};

}  // namespace castscope::rules::trace_bakes_dtype
