// region-spans-steps: one stay in a region holds several optimizer steps. The copies of the weights that autocast keeps
// live as long as the outermost region: after the first step they are of weights that are no more.
#include <algorithm>
#include <map>

#include "server/rules/coverage/region_work.h"
#include "server/rules/finding.h"
#include "server/rules/places.h"
#include "server/rules/policy/enforcing.h"
#include "server/rules/regions.h"

namespace castscope::rules {
namespace {

// Two: with one the region ends before the weights are used again. A step in which several optimizers each take their
// own parameters, one after the other, counts as one (EvidenceTracker::optimizer).
constexpr Threshold kThresholds[] = {{.name = "optimizer_steps",
                                      .value = static_cast<double>(kStepsOfALoop),
                                      .meaning = "fewer optimizer steps in one stay are no loop"}};

bool is_in_another(const store::RunData& data, const store::Region& region, std::uint64_t steps) {
  for (std::uint32_t id = region.parent; id != 0; id = data.region(id).parent)
    if (spans_steps(data, data.region(id), steps)) return true;
  return false;
}

struct Place {
  const store::Region* region = nullptr;
  Stays stays;
  bool backward_inside = false;
};

void tell(Inquiry& inquiry, const Place& place) {
  const std::uint64_t steps = place.stays.most_optimizer_steps;
  Finding& finding = inquiry.add(place.region->stack);
  finding.title = "one autocast region is open over " + counted(steps, "optimizer step") +
                  ": its copies of the weights are those of before the first";
  finding.evidence_number = {{"optimizer_steps_in_one_stay", steps}, {"entered", place.stays.entered}};
  finding.evidence_text = {{"region", region_text(*place.region)},
                           {"backward_inside", place.backward_inside ? "yes" : "no"}};
  finding.fix =
      "Open the region anew in each iteration, around the forward pass and the loss alone; call backward() and "
      "the optimizer's step() after it.";
}

bool has_backward(const store::RunData& data, const store::Region& region) {
  for (const store::Fact& fact : data.facts)
    if (fact.kind == lanes::FactKind::kBackward && is_within(data, fact.subject, region.id)) return true;
  return false;
}

void judge_steps(Inquiry& inquiry) {
  if (!enforced_policy(inquiry.data).empty()) return;  // its cache makes new copies after an optimizer step
  const store::RunData& data = inquiry.data;
  const auto least = static_cast<std::uint64_t>(inquiry.threshold("optimizer_steps"));
  std::map<Line, Place> places;
  for (const store::Region& region : data.regions) {
    if (!spans_steps(data, region, least) || is_in_another(data, region, least)) continue;
    const Stays stays = stays_in(data, region.id);
    Place& place = places[line_of(data, region.stack)];
    if (place.region == nullptr) place.region = &region;
    place.stays.entered += stays.entered;
    place.stays.most_optimizer_steps = std::max(place.stays.most_optimizer_steps, stays.most_optimizer_steps);
    place.backward_inside |= has_backward(data, region);
  }
  for (const auto& [at, place] : places) tell(inquiry, place);
}

}  // namespace

extern const Rule region_spans_steps;
const Rule region_spans_steps = {
    .name = "region-spans-steps",
    .severity = "warning",
    .summary = "a region is open over several optimizer steps",
    .thresholds = kThresholds,
    .explanation =
        {.what = "The training loop runs inside one autocast region.",
         .why = "Autocast casts each weight once and keeps the copy until the outermost region ends. When the "
                "optimizer changes the weights meanwhile, the forward pass goes on with the old copies: the "
                "loss stays where it is. Backward runs under autocast besides, which is not meant to.",
         .example = R"(import torch

model = torch.nn.Linear(32, 32)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(8, 32)
with torch.autocast("cpu", dtype=torch.bfloat16):  # belongs into the loop
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(x).float().pow(2).mean()
        loss.backward()
        optimizer.step()
        print(loss.item()))",
         .fix = "Open the region in the loop, around forward pass and loss.",
         .links = "https://docs.pytorch.org/docs/stable/notes/amp_examples.html#typical-mixed-precision-training"},
    .judge = judge_steps,
};

}  // namespace castscope::rules
