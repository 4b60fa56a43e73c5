// region-never-closed: a region was entered and never left: by hand (__enter__), twice for one exit, or by a generator
// that was never run to its end. The rule reports it when its thread or process has ended, and leaves out a `with`
// inside of which the job ended. It also reports a region whose exit had no effect: a torch.autocast object that is
// entered again within itself forgets the setting to which it has to go back (torch/amp/autocast_mode.py: __enter__
// writes self.prev).
#include <map>

#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/region_work.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::region_never_closed {
namespace {

struct Place {
  const store::Region* region = nullptr;
  bool entered_again = false;
  std::uint64_t left_open = 0;
  Stays stays;
};

void describe_entered_again(Finding& finding, bool enabled) {
  finding.title = std::string("autocast stays ") + (enabled ? "on" : "off") +
                  " after the region entered here: its torch.autocast object is entered again within it";
  finding.fix =
      "Make a torch.autocast(…) anew for each `with` and each function that it decorates; in a function that calls "
      "itself, write the `with` inside. An object remembers one setting to go back to; entered within itself, it goes "
      "back to its own.";
}

void add_finding(Inquiry& inquiry, const Place& place) {
  Finding& finding = inquiry.add(place.region->stack);
  finding.evidence_number = {
      {"left_open", place.left_open}, {"entered", place.stays.entered}, {"exited", place.stays.exited}};
  finding.evidence_text = {{"region_label", region_text(*place.region)}};
  if (place.entered_again) return describe_entered_again(finding, place.region->enabled);
  finding.title = "the autocast region entered here is never left: autocast stays on, and its cache is never cleared";
  finding.fix =
      "Enter it by `with` alone, or make a torch.autocast(…) for each __enter__() and call its "
      "__exit__(None, None, None) in a `finally`.";
}

void judge_open_regions(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const auto seen = times_of_facts(data);
  std::map<Line, Place> places;
  for (const store::Fact& fact : data.facts) {
    if (fact.kind != lanes::FactKind::kRegionNeverLeft || fact.subject == 0) continue;
    const store::Region& region = data.regions[store::RegionId(fact.subject)];
    const std::uint64_t times = seen[fact.id];
    if (times == 0 || (!region.enabled && !was_entered_again(fact))) continue;
    Place& place = places[line_of(data, region.stack)];
    if (place.region == nullptr) place.region = &region, place.entered_again = was_entered_again(fact);
    place.left_open += times;
    const Stays stays = stays_in(data, region.id);
    place.stays.entered += stays.entered;
    place.stays.exited += stays.exited;
  }
  for (const auto& [at, place] : places) add_finding(inquiry, place);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "region-never-closed",
    .severity = "warning",
    .harm = Harm::kPrecision,
    .summary = "a region is entered and never left, or leaving it has no effect",
    .thresholds = {},
    .explanation =
        {.what = "An autocast region is entered without ever being left; or it is entered by an object that is entered "
                 "again within it, by a nested `with` or a decorated function that is called there, and goes "
                 "back to a wrong setting.",
         .why = "Autocast stays on for all that the thread does afterwards, evaluation and optimizer included, "
                "and the copies of the weights that it keeps are never freed: they are still used when the weights "
                "have changed.",
         .example = R"(import torch

region = torch.autocast("cpu", dtype=torch.bfloat16)
region.__enter__()  # once too often
with region:
    y = torch.nn.Linear(32, 32)(torch.randn(2, 32))
print(torch.is_autocast_enabled("cpu")))",
         .fix = "Enter regions by `with` alone, each with a `torch.autocast(…)` of its own; `contextlib.ExitStack` "
                "where they end elsewhere.",
         .fixed_example = R"(import torch

region = torch.autocast("cpu", dtype=torch.bfloat16)
with region:
    y = torch.nn.Linear(32, 32)(torch.randn(2, 32))
print(torch.is_autocast_enabled("cpu")))",
         .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_open_regions,
};

}  // namespace castscope::rules::region_never_closed
