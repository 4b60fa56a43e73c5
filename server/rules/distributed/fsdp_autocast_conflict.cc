// fsdp-autocast-conflict: a module that FSDP casts by its own mixed-precision policy is called in an autocast region.
// With two dtypes, FSDP and autocast undo each other's work, or both dtypes meet in one operator; with one dtype the
// region has little to do.
#include <map>
#include <tuple>

#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::fsdp_autocast_conflict {
namespace {

// Outermost module and region: the modules within it that FSDP wraps one by one belong to the same finding.
using Key = std::tuple<store::RegionId, std::string, std::uint32_t, std::uint8_t>;

struct Group {
  store::StackId stack = {};
  store::RegionId region = {};
  std::uint8_t to = 0;
  store::Counts counts;
  std::string module;
};

bool is_outer(const store::RunData& data, store::StackId a, store::StackId b) {
  return frames_of(data, a).size() < frames_of(data, b).size();
}

std::map<Key, Group> find_groups(const store::RunData& data) {
  std::map<Key, Group> groups;
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    if (site.cause != lanes::Cause::kFsdp || site.stack == 0 || site.region == 0 || !is_low(site.to)) continue;
    if (!data.regions[site.region].enabled || site.phase != lanes::Phase::kForward || use.counts.casts == 0) continue;
    const store::Module* module = data.modules.find(site.module);
    Group& group = groups[{site.region, module == nullptr ? "" : module->root_type,
                           module == nullptr ? 0 : module->root_number, site.to}];
    if (group.stack == 0 || is_outer(data, site.stack, group.stack)) {
      group.stack = site.stack;
      group.module = module == nullptr ? "" : module->model();
    }
    group.region = site.region;
    group.to = site.to;
    group.counts += use.counts;
  }
  return groups;
}

void judge_conflicts(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  for (const auto& [key, group] : find_groups(data)) {
    const store::Region& region = data.regions[group.region];
    const std::string policy(store::dtype_name(group.to)), autocast(store::dtype_name(region.dtype));
    const std::string module = group.module.empty() ? "a module" : group.module;
    Finding& finding = inquiry.add(group.stack);
    const bool same = group.to == region.dtype;
    finding.title = module + " is cast to " + policy + " by FSDP's policy and called in an autocast region of " +
                    (same ? "the same dtype: two policies for one thing" : autocast);
    finding.evidence_number = {{"casts", group.counts.casts}, {"bytes", group.counts.bytes}};
    finding.evidence_text = {{"to_dtype", policy}, {"region_dtype", autocast}, {"model", module}};
    add_related(finding, data, region.stack);
    finding.fix = same ? "Leave one of the two out: call the module outside of autocast, or give fully_shard no "
                         "param_dtype and let autocast cast (which also holds norms and losses in float32 on a GPU)."
                       : "Use one dtype and one policy: call the module outside of autocast, or give fully_shard no "
                         "param_dtype and let autocast cast.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "fsdp-autocast-conflict",
    .severity = "warning",
    .harm = Harm::kPrecision,
    .summary = "FSDP's mixed precision and autocast both cast one module",
    .thresholds = {},
    .explanation = {.what = "A module that was given to `fully_shard` with a `MixedPrecisionPolicy` is called in an "
                            "enabled autocast region.",
                    .why = "FSDP casts parameters and inputs as a whole, autocast for each operator. With different "
                           "dtypes an operator gets both and raises, or casts twice. With the same dtype most of the "
                           "region does nothing, but runs some operators in float32 on a GPU.",
                    .example = R"(import torch
import torch.distributed as dist
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
mesh = dist.init_device_mesh("cpu", (1,))
layer = fully_shard(torch.nn.Linear(8, 8), mesh=mesh, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = layer(torch.randn(4, 8)))",
                    .fix = "Use one of the two: FSDP's policy or autocast.",
                    .fixed_example = R"(import torch
import torch.distributed as dist
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
mesh = dist.init_device_mesh("cpu", (1,))
layer = fully_shard(torch.nn.Linear(8, 8), mesh=mesh, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
y = layer(torch.randn(4, 8)))",
                    .links = "https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html"},
    .judge = judge_conflicts,
};

}  // namespace castscope::rules::fsdp_autocast_conflict
