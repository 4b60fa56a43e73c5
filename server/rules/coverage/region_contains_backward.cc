// region-contains-backward: backward() is called inside an autocast region. Backward nodes that compute anew (a custom
// Function without custom_bwd, checkpointed code) then compute in the region's dtype, which may not be that of their
// forward.
//
// autograd.grad inside a region may be part of a forward pass (forces, gradient penalties), so it counts only where
// autocast cast something in it. A region for a device that no operator works on does nothing (region-wrong-device).
#include <algorithm>
#include <map>

#include "server/rules/evidence/amp_handle.h"
#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/own_functions.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/evidence/region_work.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::region_contains_backward {
namespace {

struct Place {
  store::StackId stack = {};
  const store::Region* region = nullptr;
  std::uint64_t calls = 0, casts = 0;
};

std::uint64_t casts_in_backward(const store::RunData& data, store::RegionId region) {
  std::uint64_t casts = 0;
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    if (site.phase != lanes::Phase::kBackward || site.cause != lanes::Cause::kAutocast) continue;
    if (is_within(data, site.region, region)) casts += use.counts.casts;
  }
  return casts;
}

// Returns the innermost region that does something for its device.
const store::Region* region_around(const store::RunData& data, store::RegionId innermost,
                                   const store::Table<bool, store::Region>& wrong) {
  const store::Region* region = enabled_for_any_device(data, innermost);
  while (region != nullptr && wrong[region->id]) region = enabled_for_any_device(data, region->parent);
  return region;
}

// Returns the job's own Function in whose backward this region cast something, since the Function has no custom_bwd.
std::string function_without_decorator(const store::RunData& data, const store::Region& region) {
  for (const ProcessUses& uses : uses_by_process(data))
    for (const OwnFunction& function : own_functions(data, uses))
      for (const CountedUse& counted : function.backward)
        if (counted.use->region == region.id && is_cast_down(data, *counted.use)) return function.name;
  return "";
}

std::string decorating(const std::string& function, std::uint8_t device) {
  const std::string with = "(device_type=\"" + std::string(store::device_name(device)) + "\")";
  return "First decorate " + function +
         ", whose backward gets tensors of different dtypes, which only the region's casts "
         "bring to one: @torch.amp.custom_fwd" +
         with + " on forward and @torch.amp.custom_bwd" + with + " on backward. Then: ";
}

std::string fix_for(const std::optional<AmpHandle>& handle) {
  const std::string as_forward = "backward operators run in the dtype of their forward by themselves.";
  if (!handle) return "Let the region end after the loss and call backward() outside it: " + as_forward;
  std::string fix = "Call it by `with " + scaled_loss(*handle) +
                    " as scaled_loss: scaled_loss.backward()`, which turns autocast off meanwhile, with bfloat16 too";
  if (*handle == AmpHandle::kInit) fix += "; or by `with amp_handle.disable_casts():`";
  return fix + ". Backward needs no autocast: " + as_forward;
}

void add_finding(Inquiry& inquiry, const Place& place) {
  const store::RunData& data = inquiry.data;
  Finding& finding = inquiry.add(place.stack);
  const Line opened_at = line_of(data, place.region->stack);
  finding.title = "backward runs under autocast: it is called inside the region opened at " + opened_at.short_text();
  finding.evidence_number = {{"backward_calls", place.calls}, {"casts_in_backward", place.casts}};
  finding.evidence_text = {{"region_label", region_text(*place.region)},
                           {"region_opened_at", place_text(data, opened_at)}};
  add_related(finding, data, place.region->stack);
  finding.fix = fix_for(amp_handle_of(data, *place.region));
  const std::string function = function_without_decorator(data, *place.region);
  if (function.empty()) return;
  finding.evidence_text.emplace_back("autograd_function", function);
  finding.fix = decorating(function, place.region->device) + finding.fix;
}

void judge_backward(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  constexpr std::uint16_t kGradientsAskedFor = 1;  // FactKind::kBackward
  const auto seen = times_of_facts(data);
  const auto wrong_device = regions_of_wrong_device(data), left_on = regions_left_on(data);
  std::map<Line, Place> places;
  for (const store::Fact& fact : data.facts) {
    if (fact.kind != lanes::FactKind::kBackward) continue;
    const store::Region* region = region_around(data, store::RegionId(fact.subject), wrong_device);
    const std::uint64_t calls = seen[fact.id];
    if (region == nullptr || left_on[region->id] || calls == 0) continue;
    const std::uint64_t casts = casts_in_backward(data, region->id);
    if (fact.detail == kGradientsAskedFor && casts == 0) continue;
    Place& place = places[line_of(data, fact.stack)];
    if (place.stack == 0) place.stack = fact.stack;
    if (place.region == nullptr) place.region = region;
    place.calls += calls;
    place.casts = std::max(place.casts, casts);
  }
  for (const auto& [at, place] : places) add_finding(inquiry, place);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "region-contains-backward",
    .severity = "warning",
    .harm = Harm::kPrecision,
    .summary = "backward is called inside an autocast region",
    .thresholds = {},
    .explanation =
        {.what = "backward() is called while autocast is on.",
         .why = "PyTorch's own backward operators take the dtype of their forward. What else runs in backward is "
                "cast by the region around the call: products in a custom Function, recomputed code. The "
                "documentation advises against it.",
         .example = R"(import torch

layer = torch.nn.Linear(32, 32)
with torch.autocast("cpu", dtype=torch.bfloat16):
    loss = layer(torch.randn(2, 32)).float().sum()
    loss.backward()  # belongs after the region)",
         .fix = "Call `backward()` after the region.",
         .fixed_example = R"(import torch

layer = torch.nn.Linear(32, 32)
with torch.autocast("cpu", dtype=torch.bfloat16):
    loss = layer(torch.randn(2, 32)).float().sum()
loss.backward())",
         .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_backward,
};

}  // namespace castscope::rules::region_contains_backward
