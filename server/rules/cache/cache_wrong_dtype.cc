// cache-wrong-dtype: a cache hit gave back another dtype than that of the region in which it was asked for. The cache
// knows weights by identity alone, so a copy made for a bfloat16 region comes back in a float16 region that is opened
// inside it, or after set_autocast_dtype. The operator then raises, or computes in a dtype that nobody asked for.
#include <map>

#include "server/rules/cache/served_copies.h"
#include "server/rules/evidence/amp_handle.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/enforced_policy.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/weights.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::cache_wrong_dtype {
namespace {

struct Group {
  store::StackId stack = {};
  store::RegionId region = {};
  std::uint64_t hits = 0;
  std::set<std::string> weights;
};
struct Key {
  Line line;
  std::uint8_t got, asked;
  auto operator<=>(const Key&) const = default;
};

void judge_dtypes(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  if (!enforced_policy(data).empty()) return;  // that cache knows a copy's dtype, and the policy may ask for another
  std::map<Key, Group> groups;
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    if (use.counts.hits == 0 || site.cause != lanes::Cause::kAutocast || site.region == 0) continue;
    const store::Region& region = data.regions[site.region];
    if (region.device != site.device || region.dtype == site.to) continue;
    Group& group = groups[{line_of(data, site.stack), site.to, region.dtype}];
    if (group.stack == 0) group.stack = site.stack;
    group.region = site.region;
    group.hits += use.counts.hits;
    group.weights.insert(weight_name(data, site));
  }
  for (const auto& [key, group] : groups) {
    const std::string got(store::dtype_name(key.got)), asked(store::dtype_name(key.asked));
    Finding& finding = inquiry.add(group.stack);
    finding.title = subject_of(group.weights) + " served in " + got +
                    " from the autocast cache, though the region "
                    "is " +
                    asked;
    finding.evidence_number = {{"cache_hits", group.hits}, {"weight_count", group.weights.size()}};
    finding.evidence_text = {{"weight", first_of(group.weights)}, {"to_dtype", got}, {"region_dtype", asked}};
    const store::RegionId outermost = data.outermost(group.region);
    add_related(finding, data, data.regions[group.region].stack);
    if (outermost != group.region) add_related(finding, data, data.regions[outermost].stack);
    const auto handle = amp_handle_of(data, data.regions[outermost]);
    finding.fix =
        handle ? "Give amp.init() the dtype of the regions within (dtype=torch." + asked +
                     "), where they share weights. Where both must be, call " + clearing_the_cache(*handle) +
                     " before the inner one, or keep no copies: " + without_the_cache(*handle) + "."
               : "Use one dtype for all autocast regions that lie within each other and share weights, or end the " +
                     got + " region before the " + asked +
                     " one begins. Where they must be nested, pass cache_enabled=False to the outer one, or call "
                     "torch.clear_autocast_cache() before the inner one.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "cache-wrong-dtype",
    .severity = "error",
    .harm = Harm::kResults,
    .summary = "the autocast cache serves a copy in another dtype than the region's",
    .thresholds = {},
    .explanation = {.what = "A weight was cast in one autocast region, and used again in a region of another dtype "
                            "inside it: the cache served the first copy.",
                    .why = "The cache knows a weight by its identity, not by the dtype it was cast to, and is emptied "
                           "only when the outermost region ends. The operator raises, or computes in the dtype of "
                           "the region around.",
                    .example = R"(import torch

weight = torch.nn.Parameter(torch.randn(8, 8))
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = weight @ weight
    with torch.autocast("cpu", dtype=torch.float16):
        z = weight @ weight
print(z.dtype)  # torch.bfloat16)",
                    .fix = "Use one dtype for regions within each other, or end the first region before the second.",
                    .fixed_example = R"(import torch

weight = torch.nn.Parameter(torch.randn(8, 8))
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = weight @ weight
with torch.autocast("cpu", dtype=torch.float16):
    z = weight @ weight
print(z.dtype)  # torch.float16)",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_dtypes,
};

}  // namespace castscope::rules::cache_wrong_dtype
