// region-wrong-device: a region is for one device, and every operator seen in it that autocast could have cast works on
// tensors of another. Not a finding: a region with one for the right device around it, and one in which anything of its
// own device was there to cast.
#include <map>

#include "server/rules/evidence/amp_handle.h"
#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/evidence/region_work.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::region_wrong_device {
namespace {

struct Place {
  const store::Region* region = nullptr;
  std::vector<const store::OperatorUse*> uses;
  std::uint64_t entered = 0, operators = 0;
};

// By region: whether operators that autocast could have cast ran on the region's own device, and those on other
// devices, which it left alone.
struct Work {
  bool own = false;
  std::vector<const store::OperatorUse*> strangers;
};
store::Table<Work, store::Region> work_in_regions(const store::RunData& data) {
  store::Table<Work, store::Region> work(data.regions.size());
  for (const store::OperatorUse& use : data.operator_uses) {
    const bool stranger = is_uncast_work(use) && region_of_device(data, use) == nullptr;
    for (store::RegionId id = use.region; id != 0; id = data.regions[id].parent) {
      if (data.regions[id].device != use.device) {
        if (stranger) work[id].strangers.push_back(&use);
      } else if (use.is(lanes::kUseEligible) || is_made_of_products(use.op)) {
        work[id].own = true;
      }
    }
  }
  return work;
}

void add_finding(Inquiry& inquiry, const Place& place) {
  const std::string device(store::device_name(place.region->device));
  const std::string other(store::device_name(place.uses.front()->device));
  Finding& finding = inquiry.add(place.region->stack);
  finding.title = "autocast is on for " + device + " here, but the operators in it work on " + other +
                  " tensors: it does nothing for them";
  finding.evidence_number = {{"entered", place.entered}, {"operators_not_cast", place.operators}};
  finding.evidence_text = {
      {"region_device", device}, {"device", other}, {"operator_names", operators_text(place.uses)}};
  finding.deep_only = true;
  // In a script the device must be a constant.
  const bool constant = place.region->kind == lanes::RegionKind::kScript;
  if (amp_handle_of(inquiry.data, *place.region))
    finding.fix = "Name the device that the tensors are on: amp.init(device_type=\"" + other + "\")";
  else if (constant)
    finding.fix = "Name the device that the tensors are on: torch.autocast(\"" + other + "\")";
  else
    finding.fix = "Take the device from the data: torch.autocast(x.device.type)";
  finding.fix += ", or move model and data to " + device + " before. The operators then compute in low precision.";
}

void judge_devices(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const store::Table<Work, store::Region> work = work_in_regions(data);
  const auto with_casts = regions_with_casts(data);
  const auto times = times_of_uses(data);
  std::map<Line, Place> places;
  for (const store::Region& region : data.regions) {
    const auto& [own, strangers] = work[region.id];
    const bool entered = region.kind == lanes::RegionKind::kContext || region.kind == lanes::RegionKind::kScript;
    if (!entered || !region.enabled) continue;
    if (own || strangers.empty() || with_casts[region.id]) continue;
    Place& place = places[line_of(data, region.stack)];
    if (place.region == nullptr) place.region = &region;
    place.entered += stays_in(data, region.id).entered;
    for (const store::OperatorUse* use : strangers) place.operators += times[use->id];
    place.uses.insert(place.uses.end(), strangers.begin(), strangers.end());
  }
  for (const auto& [at, place] : places) add_finding(inquiry, place);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "region-wrong-device",
    .severity = "warning",
    .harm = Harm::kPrecision,
    .summary = "a region is for another device than all operators in it",
    .thresholds = {},
    .sees = kOperators,
    .explanation = {.what = "An autocast region is for one device; the tensors in it are on another.",
                    .why = "Autocast is switched on for one type of device. PyTorch accepts any that it has heard of, "
                           "without a warning, and operators on other devices run as if there were no region.",
                    .example = R"(import torch

layer, x = torch.nn.Linear(32, 32), torch.randn(2, 32)  # on the CPU
with torch.autocast("xpu"):
    y = layer(x)
print(y.dtype)  # torch.float32)",
                    .fix =
                        "Take the device from the tensors: `torch.autocast(x.device.type)`. The operators then compute "
                        "in low precision.",
                    .fixed_example = R"(import torch

layer, x = torch.nn.Linear(32, 32), torch.randn(2, 32)  # on the CPU
with torch.autocast(x.device.type):
    y = layer(x)
print(y.dtype)  # torch.bfloat16)",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_devices,
};

}  // namespace castscope::rules::region_wrong_device
