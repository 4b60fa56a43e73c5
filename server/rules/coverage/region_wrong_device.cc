// region-wrong-device: a region for one device, and every operator seen in it that autocast could have cast works on
// tensors of another. Not when a region of the right device is around them, nor when anything of the region's own
// device was there to cast.
#include <map>

#include "server/rules/coverage/region_work.h"
#include "server/rules/finding.h"
#include "server/store/names.h"

namespace castscope::rules {
namespace {

struct Place {
  const store::Region* region = nullptr;
  std::vector<const store::OperatorUse*> uses;
  std::uint64_t entered = 0, operators = 0;
};

// Operators on another device that autocast let be; empty where it had some of its own.
std::vector<const store::OperatorUse*> strangers_in(const store::RunData& data, const store::Region& region) {
  std::vector<const store::OperatorUse*> strangers;
  for (const store::OperatorUse& use : data.operator_uses) {
    if (!is_within(data, use.region, region.id)) continue;
    if (use.device == region.device) {
      if (use.is(lanes::kUseEligible)) return {};
    } else if (is_uncast_work(use) && region_of_device(data, use.region, use.device) == 0) {
      strangers.push_back(&use);
    }
  }
  return has_casts(data, region) ? std::vector<const store::OperatorUse*>() : strangers;
}

void tell(Inquiry& inquiry, const Place& place) {
  const std::string device(store::device_name(place.region->device));
  const std::string other(store::device_name(place.uses.front()->device));
  Finding& finding = inquiry.add(place.region->stack);
  finding.title = "autocast is on for " + device + " here, but the operators in it work on " + other +
                  " tensors: it does nothing for them";
  finding.evidence_number = {{"entered", place.entered}, {"operators_not_cast", place.operators}};
  finding.evidence_text = {
      {"region_device", device}, {"operators_device", other}, {"operators", operators_text(place.uses)}};
  finding.deep_only = true;
  finding.fix =
      "Take the device from the data: torch.autocast(x.device.type), or move model and data to " + device + " before.";
}

void judge_device(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  std::map<FilePlace, Place> places;
  for (const store::Region& region : data.regions) {
    if (region.kind != lanes::RegionKind::kContext || !region.enabled) continue;
    const auto strangers = strangers_in(data, region);
    if (strangers.empty()) continue;
    Place& place = places[place_of(data, region.stack)];
    if (place.region == nullptr) place.region = &region;
    place.entered += stays_in(data, region.id).entered;
    for (const store::OperatorUse* use : strangers) place.operators += times_of(data, *use);
    place.uses.insert(place.uses.end(), strangers.begin(), strangers.end());
  }
  for (const auto& [at, place] : places) tell(inquiry, place);
}

}  // namespace

extern const Rule region_wrong_device;
const Rule region_wrong_device = {
    .name = "region-wrong-device",
    .severity = "warning",
    .summary = "a region is for another device than that of every operator in it",
    .thresholds = {},
    .explanation = {.what = "An autocast region is for one device; the tensors in it are on another.",
                    .why = "Autocast is switched on for one type of device. PyTorch accepts any that it has heard of, "
                           "without a warning, and operators on other devices run as if there were no region.",
                    .example = R"(import torch

layer = torch.nn.Linear(32, 32)  # on the CPU
with torch.autocast("xpu"):
    print(layer(torch.randn(2, 32)).dtype))",
                    .fix = "Take the device from the tensors: `torch.autocast(x.device.type)`.",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_device,
};

}  // namespace castscope::rules
