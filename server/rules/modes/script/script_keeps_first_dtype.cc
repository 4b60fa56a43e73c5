// script-keeps-first-dtype: a scripted function first ran in a region of one dtype, and then in one of another. The
// casts that the first run put into its graph stay.
#include <map>

#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::script_keeps_first_dtype {
namespace {

struct Kept {
  const store::Site* site = nullptr;
  const store::Region* region = nullptr;
  std::uint64_t casts = 0;
};

// Returns the eager region in which a cast of a graph was made; nullptr when it was made in a region of the graph
// itself.
const store::Region* region_of_cast(const store::RunData& data, const store::Site& site) {
  const store::Region* region = enabled_region(data, site.region, site.device);
  return region != nullptr && region->kind == lanes::RegionKind::kScript ? nullptr : region;
}

void judge_kept_dtypes(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  std::map<Line, Kept> at;
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    if (site.cause != lanes::Cause::kScript || site.baked() || !is_low(site.to) || use.counts.casts == 0) continue;
    const store::Region* region = region_of_cast(data, site);
    if (region == nullptr || !is_low(region->dtype) || region->dtype == site.to) continue;
    Kept& kept = at[line_of(data, site.stack)];
    if (kept.site == nullptr) kept.site = &site, kept.region = region;
    kept.casts += use.counts.casts;
  }
  for (const auto& [line, kept] : at) {
    Finding& finding = inquiry.add(kept.site->stack);
    const std::string to(store::dtype_name(kept.site->to)), asked(store::dtype_name(kept.region->dtype));
    finding.title = short_name(kept.site->op) + " of this script is cast to " + to + " in a region of " + asked +
                    ": the dtype of its first run stays";
    finding.evidence_number = {{"casts", kept.casts}};
    finding.evidence_text = {{"to_dtype", to},
                             {"region_dtype", asked},
                             {"region_opened_at", place_text(data, line_of(data, kept.region->stack))}};
    finding.fix =
        "Save the script, and load it once for each dtype (torch.jit.save, torch.jit.load): a script keeps the casts "
        "of "
        "the region that it first ran in. Scripted again or copied, it is still the same compiled code, and so are the "
        "layers that scripts of two classes share.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "script-keeps-first-dtype",
    .severity = "error",
    .harm = Harm::kPrecision,
    .summary = "a script casts to the dtype of the region that it first ran in",
    .thresholds = {},
    .explanation =
        {.what = "A scripted function was called in regions of different dtypes.",
         .why = "TorchScript puts the casts into the graph at the first call, with the dtype of the region "
                "around it. A later call in another region rounds to the first dtype: in a float16 region "
                "values then have the precision of bfloat16.",
         .example = R"(import torch

@torch.jit.script
def product(a, b):
    return torch.mm(a, b)

a = torch.randn(8, 8)
for dtype in (torch.bfloat16, torch.float16):
    with torch.autocast("cpu", dtype=dtype):
        y = product(a, a))",
         .fix =
             "One script for each dtype: of functions or classes of their own, or loaded once for each. To script the "
             "same function twice gives the same script.",
         .fixed_example = R"(import torch

@torch.jit.script
def product(a, b):
    return torch.mm(a, b)

torch.jit.save(product, "product.pt")
a = torch.randn(8, 8)
for dtype in (torch.bfloat16, torch.float16):
    product = torch.jit.load("product.pt")
    with torch.autocast("cpu", dtype=dtype):
        y = product(a, a))",
         .links = "https://docs.pytorch.org/docs/stable/amp.html"},
    .judge = judge_kept_dtypes,
};

}  // namespace castscope::rules::script_keeps_first_dtype
