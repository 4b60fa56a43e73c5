// region-empty: in no stay in this region did an operator run that autocast could cast, while the work that it was put
// around ran outside: the region ends too early. This happens to a decorated class, generator function or coroutine
// function, whose call only makes an object that runs later, and to a `with` around a lazy call.
//
// Most empty regions are harmless: they load a checkpoint, or had nothing to do. The rule counts work as theirs where
// the call is known to run later, or where the work ran further on in the same function and that function opens no
// region that works.
#include <algorithm>
#include <map>
#include <set>

#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/region_work.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::region_empty {
namespace {

struct Place {
  const store::Region* region = nullptr;
  std::uint64_t entered = 0, operators = 0;
  std::vector<const store::OperatorUse*> missed;
  std::set<store::OperatorUseId> counted;
};

bool is_of_function(const store::CodeLocation& frame, const store::CodeLocation& function) {
  return frame.file == function.file && frame.function == function.function;
}

// Returns of each region whether the region, or one within it, had an operator for which autocast has a kernel, on any
// device. Operators that were traced there count as work, too.
store::Table<bool, store::Region> working_regions(const store::RunData& data) {
  store::Table<bool, store::Region> working(data.regions.size());
  const auto mark = [&](store::RegionId id) {
    for (; id != 0; id = data.regions[id].parent) working[id] = true;
  };
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    if (is_work_of_autocast(site.cause) && !use.counts.empty()) mark(site.region);
  }
  for (const store::OperatorUse& use : data.operator_uses)
    if (use.is(lanes::kUseEligible) || is_made_of_products(use.op)) mark(use.region);
  return working;
}

// The same function opens another region that has work to cast; operators that run outside of it are then meant to.
bool function_has_working_region(const store::RunData& data, const store::Table<bool, store::Region>& working,
                                 const store::CodeLocation& function) {
  return std::any_of(data.regions.begin(), data.regions.end(), [&](const store::Region& region) {
    if (!region.enabled || !working[region.id]) return false;
    const auto opened = opening_frame(data, region);
    return opened && is_of_function(*opened, function);
  });
}

// The operator ran in a call that `function` made at this line or further on.
bool is_later_in(const store::RunData& data, const store::OperatorUse& use, const store::CodeLocation& function) {
  const auto& frames = frames_of(data, use.stack);
  return std::any_of(frames.begin(), frames.end(), [&](const store::CodeLocation& frame) {
    return is_of_function(frame, function) && frame.line >= function.line;
  });
}

struct Known {
  store::Table<bool, store::Region> working;
  store::Table<Processes, store::Region> regions_processes;
  store::Table<Processes, store::OperatorUse> uses_processes;
};

std::vector<const store::OperatorUse*> missed_work(const store::RunData& data, const Known& known,
                                                   const store::Region& region, const store::CodeLocation& function) {
  const bool runs_later = region.flags & lanes::kRegionRunsLater;
  std::vector<const store::OperatorUse*> missed;
  if (!runs_later && function_has_working_region(data, known.working, function)) return missed;
  for (const store::OperatorUse& use : data.operator_uses) {
    const bool forward = use.phase != lanes::Phase::kBackward;
    if (use.region != 0 || !forward || !is_uncast_work(use)) continue;
    if (!share_one(known.regions_processes[region.id], known.uses_processes[use.id])) continue;
    if (runs_later || is_later_in(data, use, function)) missed.push_back(&use);
  }
  return missed;
}

void add_finding(Inquiry& inquiry, const Place& place) {
  const store::RunData& data = inquiry.data;
  const bool runs_later = place.region->flags & lanes::kRegionRunsLater;
  const Line first_at = line_of(data, place.missed.front()->stack);
  const std::string first = first_at.short_text();
  Finding& finding = inquiry.add(place.region->stack);
  finding.title = std::string("this autocast region does nothing: ") +
                  (runs_later ? "the decorated call only makes what runs later" : "it ends before the work begins") +
                  ", and " + place.missed.front()->op + " at " + first + " runs in float32";
  finding.evidence_number = {{"entered", place.entered}, {"operators_not_cast", place.operators}};
  finding.evidence_text = {{"region_label", region_text(*place.region)},
                           {"operator_names", operators_text(place.missed)},
                           {"first_operator_at", place_text(data, first_at)}};
  add_related(finding, data, place.missed.front()->stack);
  finding.deep_only = true;
  finding.fix = runs_later
                    ? "Decorate what does the work: a class's forward instead of the class; in a generator or a "
                      "coroutine open the region inside, around the computation, and not across a yield or await."
                    : "Put the work into the region: " + first + " runs after it has ended.";
  finding.fix += " The work is then done in the region's dtype.";
}

void judge_empty_regions(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const Known known = {working_regions(data), processes_of_regions(data), processes_of_uses(data)};
  const auto times = times_of_uses(data);
  std::map<Line, Place> places;
  for (const store::Region& region : data.regions) {
    if (region.kind != lanes::RegionKind::kContext || !region.enabled || known.working[region.id]) continue;
    if (enabled_for_any_device(data, region.parent) != nullptr) continue;
    const auto function = opening_frame(data, region);
    if (!function) continue;
    const auto missed = missed_work(data, known, region, *function);
    if (missed.empty()) continue;
    Place& place = places[line_of(data, region.stack)];
    if (place.region == nullptr) place.region = &region;
    place.entered += stays_in(data, region.id).entered;
    for (const store::OperatorUse* use : missed) {
      if (!place.counted.insert(use->id).second) continue;
      place.missed.push_back(use);
      place.operators += times[use->id];
    }
  }
  for (const auto& [at, place] : places) add_finding(inquiry, place);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "region-empty",
    .severity = "warning",
    .harm = Harm::kPrecision,
    .summary = "a region ends before the work that it is meant for begins",
    .thresholds = {},
    .sees = kOperators | kEvents,
    .explanation = {.what =
                        "An autocast region is entered and left without a single operator that it could cast, and the "
                        "work runs outside.",
                    .why =
                        "A decorator covers the call. The call of a class makes an object, that of a generator or a "
                        "coroutine function makes a generator or a coroutine: the body runs later, without autocast, "
                        "in float32.",
                    .example = R"(import torch

@torch.autocast("cpu", dtype=torch.bfloat16)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(32, 32)

    def forward(self, x):  # belongs here
        return self.layer(x)

model = Net()
y = model(torch.randn(2, 32))
print(y.dtype)  # torch.float32)",
                    .fix = "Decorate `forward`, or open the region inside the function, which then computes in the "
                           "region's dtype.",
                    .fixed_example = R"(import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(32, 32)

    @torch.autocast("cpu", dtype=torch.bfloat16)
    def forward(self, x):
        return self.layer(x)

model = Net()
y = model(torch.randn(2, 32))
print(y.dtype)  # torch.bfloat16)",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_empty_regions,
};

}  // namespace castscope::rules::region_empty
