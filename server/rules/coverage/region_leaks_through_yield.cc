// region-leaks-through-yield: a coroutine holds a region open across an await, or a generator across a yield, and other
// code ran in it meanwhile: its operators were cast. Autocast is a state of the thread, not of the coroutine.
//
// The agent reports it (kRegionLeaked) once the owner itself has left the region. A region that is lent on purpose, by
// a context manager or by a class that enters in one method and leaves in another, is therefore not reported.
#include <map>

#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/region_work.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::region_leaks_through_yield {
namespace {

struct Place {
  const store::Region* region = nullptr;
  const store::Fact* first = nullptr;
  std::uint64_t operators = 0;
  std::map<Line, store::StackId> others;  // lines that ran in it, with one stack for each
};

void add_finding(Inquiry& inquiry, const Place& place) {
  const store::RunData& data = inquiry.data;
  Finding& finding = inquiry.add(place.region->stack);
  const Line first_at = line_of(data, place.first->stack);
  finding.title = "this autocast region stays open across an await or yield: " + place.first->text + " at " +
                  first_at.short_text() + " ran in it, which is not part of it";
  finding.evidence_number = {{"foreign_operators", place.operators},
                             {"entered", stays_in(data, place.region->id).entered}};
  finding.evidence_text = {{"region_label", region_text(*place.region)},
                           {"first_operator", place.first->text},
                           {"first_operator_at", place_text(data, first_at)}};
  for (const auto& [at, stack] : place.others) add_related(finding, data, stack);
  finding.deep_only = true;
  finding.fix =
      "Leave the region before the await or yield and enter it again after: autocast belongs to the thread, so "
      "whatever else runs on it meanwhile is cast too.";
}

void judge_leaks(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const auto seen = times_of_facts(data);
  std::map<Line, Place> places;
  for (const store::Fact& fact : data.facts) {
    if (fact.kind != lanes::FactKind::kRegionLeaked || fact.subject == 0) continue;
    const std::uint64_t times = seen[fact.id];
    if (times == 0) continue;
    const store::Region& region = data.regions[store::RegionId(fact.subject)];
    Place& place = places[line_of(data, region.stack)];
    if (place.region == nullptr) place.region = &region;
    if (place.first == nullptr) place.first = &fact;
    place.operators += times;
    place.others.emplace(line_of(data, fact.stack), fact.stack);
  }
  for (const auto& [at, place] : places) add_finding(inquiry, place);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "region-leaks-through-yield",
    .severity = "error",
    .harm = Harm::kPrecision,
    .summary = "a region is open across an await or yield, and other code that runs meanwhile is cast",
    .thresholds = {},
    .sees = kOperators,
    .explanation = {.what = "A coroutine awaits, or a generator yields, inside an autocast region.",
                    .why =
                        "Whether autocast is on is a state of the thread. While the coroutine waits, others run on the "
                        "same thread, in its region: they compute in low precision without having asked for it. When "
                        "they enter regions of their own, autocast may even stay on at the end.",
                    .example = R"(import asyncio

import torch

layer = torch.nn.Linear(32, 32)

async def low():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = layer(torch.randn(2, 32))
        await asyncio.sleep(0)
    return y

async def full():
    return layer(torch.randn(2, 32))

async def main():
    return await asyncio.gather(low(), full())

y, z = asyncio.run(main())
print(y.dtype, z.dtype)  # bfloat16, bfloat16)",
                    .fix = "End the region before each `await` or `yield`.",
                    .fixed_example = R"(import asyncio

import torch

layer = torch.nn.Linear(32, 32)

async def low():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = layer(torch.randn(2, 32))
    await asyncio.sleep(0)
    return y

async def full():
    return layer(torch.randn(2, 32))

async def main():
    return await asyncio.gather(low(), full())

y, z = asyncio.run(main())
print(y.dtype, z.dtype)  # bfloat16, float32)",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_leaks,
};

}  // namespace castscope::rules::region_leaks_through_yield
