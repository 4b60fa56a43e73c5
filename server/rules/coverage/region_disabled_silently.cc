// region-disabled-silently: the code asked for autocast and got a region in which it is off, because the device is
// absent or autocast does not know the dtype. PyTorch says so once, in a warning; the job then runs in float32. In a
// script, PyTorch says nothing where its autocast pass is off.
//
// The rule leaves alone the regions that the code itself switches off (enabled=False).
#include <algorithm>
#include <map>

#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/evidence/region_work.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::region_disabled_silently {
namespace {

struct Place {
  const store::Region* region = nullptr;
  std::uint64_t entered = 0;
  std::uint64_t operators = 0;  // those that autocast would have cast
  std::vector<const store::OperatorUse*> uses;
};

void count_work(const store::RunData& data, const store::Region& region,
                const store::Table<std::uint64_t, store::OperatorUse>& times, Place& place) {
  for (const store::OperatorUse& use : data.operator_uses) {
    if (!is_within(data, use.region, region.id) || !is_uncast_work(use)) continue;
    if (std::find(place.uses.begin(), place.uses.end(), &use) != place.uses.end()) continue;  // in an inner region
    place.operators += times[use.id];
    place.uses.push_back(&use);
  }
}

struct Reason {
  std::string word, text, fix;
};
Reason reason_of(const store::Region& region) {
  const std::string device(store::device_name(region.device)), dtype(store::dtype_name(region.dtype));
  if (region.flags & lanes::kRegionScriptOff)
    return {"script_autocast_off", "TorchScript's autocast is off, so that the script's graph gets no casts",
            "Leave TorchScript's autocast on (torch._C._jit_set_autocast_mode(True), and no "
            "torch.jit.optimized_execution(False) around the call); where float32 is meant, leave the region out."};
  if (region.flags & lanes::kRegionNoDevice)
    return {"no_device", "there is no " + device + " device",
            "Take the device from the data (torch.autocast(x.device.type)). Where a run without " + device +
                " is meant to be in float32, say so: enabled=torch." + device + ".is_available()."};
  return {"no_such_dtype", dtype + " is not a dtype that it casts to",
          "To compute in low precision, pass dtype=torch.bfloat16 (or torch.float16); where " + dtype +
              " is meant, pass enabled=False, or leave the region out."};
}

void add_finding(Inquiry& inquiry, const Place& place) {
  const store::Region& region = *place.region;
  const std::string device(store::device_name(region.device)), dtype(store::dtype_name(region.dtype));
  const Reason reason = reason_of(region);
  Finding& finding = inquiry.add(region.stack);
  finding.title = "autocast for " + device + " is asked for here and stays off: " + reason.text;
  finding.evidence_number = {{"entered", place.entered}, {"operators_not_cast", place.operators}};
  finding.evidence_text = {{"region_device", device}, {"region_dtype", dtype}, {"why_nothing_cast", reason.word}};
  if (!place.uses.empty()) finding.evidence_text.emplace_back("operator_names", operators_text(place.uses));
  finding.fix = reason.fix;
}

void judge_disabled_regions(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const auto times = times_of_uses(data);
  std::map<Line, Place> places;
  for (const store::Region& region : data.regions) {
    if (!(region.flags & lanes::kRegionAskedEnabled) || region.enabled) continue;
    if (has_enabled_beside(data, region)) continue;  // the code asks for several devices and gets one of them
    Place& place = places[line_of(data, region.stack)];
    if (place.region == nullptr) place.region = &region;
    place.entered += stays_in(data, region.id).entered;
    count_work(data, region, times, place);
  }
  for (const auto& [at, place] : places) add_finding(inquiry, place);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "region-disabled-silently",
    .severity = "warning",
    .harm = Harm::kPrecision,
    .summary =
        "a region that should have autocast on has it off: the device is not there, or autocast does not support the "
        "dtype",
    .thresholds = {},
    .explanation = {.what = "The code enters an autocast region and autocast stays off in it.",
                    .why = "Without the device, or with a dtype other than float16 and bfloat16, PyTorch makes a "
                           "disabled region of it and says so once, in a warning. A region of a script stays off, "
                           "without a word, while TorchScript's own autocast is off. Everything runs in float32, at "
                           "the price of float32.",
                    .example = R"(import torch

layer = torch.nn.Linear(32, 32)
with torch.autocast("cpu", dtype=torch.float32):  # stays off
    y = layer(torch.randn(2, 32))
print(y.dtype)  # torch.float32)",
                    .fix =
                        "To compute in low precision, take the device from the tensors and pass a dtype that autocast "
                        "supports; pass `enabled=False` where float32 is meant.",
                    .fixed_example = R"(import torch

layer = torch.nn.Linear(32, 32)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = layer(torch.randn(2, 32))
print(y.dtype)  # torch.bfloat16)",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_disabled_regions,
};

}  // namespace castscope::rules::region_disabled_silently
