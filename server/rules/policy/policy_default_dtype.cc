// policy-default-dtype: a region leaves its dtype to the device's default, and that default was not one and the same:
// the line was entered with several dtypes (on another device, or after the default was set anew), or the device's
// default is float16, where people expect the bfloat16 of the CPU and of that device's own older packages.
//
// Not a finding: torch.autocast("cpu") and torch.autocast("cuda") without a dtype, which everybody writes; and a region
// of one device around the operators of another, where no dtype counts (region-wrong-device).
#include <map>
#include <set>

#include "absl/strings/str_join.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/region_work.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::policy_default_dtype {
namespace {

constexpr std::uint8_t kCpu = 0, kCuda = 1;  // c10::DeviceType

struct Place {
  store::StackId stack = {};
  std::set<std::string> dtypes, devices;
  bool unexpected = false;
};

void add_finding(Inquiry& inquiry, const Place& place) {
  Finding& finding = inquiry.add(place.stack);
  const std::string dtypes = absl::StrJoin(place.dtypes, " and "), devices = absl::StrJoin(place.devices, " and ");
  finding.title =
      place.dtypes.size() > 1
          ? "this region names no dtype, and the default was " + dtypes + " on " + devices
          : "this region names no dtype, and the default on " + devices + " is " + dtypes + ", not bfloat16";
  finding.evidence_text = {{"default_dtypes", absl::StrJoin(place.dtypes, ", ")},
                           {"device_names", absl::StrJoin(place.devices, ", ")}};
  finding.fix =
      "Say which dtype is meant: torch.autocast(…, dtype=torch.bfloat16), or torch.float16 together with a "
      "GradScaler.";
}

void judge_defaults(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const auto wrong_device = regions_of_wrong_device(data);
  std::map<Line, Place> places;
  for (const store::Region& region : data.regions) {
    if ((region.flags & lanes::kRegionDefaultDtype) == 0 || !region.enabled) continue;
    if (!data.user_location(region.stack)) continue;
    Place& place = places[line_of(data, region.stack)];
    if (place.stack == 0) place.stack = region.stack;
    place.dtypes.emplace(store::dtype_name(region.dtype));
    place.devices.emplace(store::device_name(region.device));
    place.unexpected |=
        !wrong_device[region.id] && region.device != kCpu && region.device != kCuda && region.dtype == kHalf;
  }
  for (const auto& [at, place] : places)
    if (place.unexpected || place.dtypes.size() > 1) add_finding(inquiry, place);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "policy-default-dtype",
    .severity = "info",
    .summary = "a region takes its dtype from a default that is not the same everywhere",
    .thresholds = {},
    .explanation =
        {.what = "A region names no dtype. The default that it got was not the same each time, or is float16 on a "
                 "device where bfloat16 is expected.",
         .why = "The default is bfloat16 on a CPU and float16 on CUDA, XPU and MPS, and torch.set_autocast_dtype sets "
                "another. float16 overflows beyond 65,504 and needs a GradScaler; code that was tried in bfloat16 may "
                "diverge in it.",
         .example = R"(import torch

for dtype in (torch.float16, torch.bfloat16):
    torch.set_autocast_dtype("cpu", dtype)
    with torch.autocast("cpu"):
        y = torch.nn.Linear(8, 8)(torch.randn(4, 8)))",
         .fix = "`torch.autocast(device, dtype=torch.bfloat16)`.",
         .fixed_example = R"(import torch

for dtype in (torch.float16, torch.bfloat16):
    torch.set_autocast_dtype("cpu", dtype)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = torch.nn.Linear(8, 8)(torch.randn(4, 8)))",
         .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_defaults,
};

}  // namespace castscope::rules::policy_default_dtype
