// scaler-missing: a training loop in float16 without gradient scaling, whose gradients fall below the range of float16:
// small values became zeros.
//
// Where gradients were sampled, their values decide, and not the absence of GradScaler: a job that scales the loss by
// hand, or has gradients that float16 holds, is left alone. Where they were not sampled, as on a GPU, the finding says
// that nothing scales them, and that their values were not measured.
#include <algorithm>
#include <map>

#include "server/rules/evidence/amp_handle.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/inquiry/rule.h"
#include "server/rules/scaler/scaler_facts.h"
#include "server/rules/scaler/unmeasured_gradients.h"

namespace castscope::rules::scaler_missing {
namespace {

// 2^-14: smaller numbers of float16 are subnormal, have ever fewer bits, and end at 2^-24.
constexpr double kSmallestNormal = 6.103515625e-05;

constexpr Threshold kThresholds[] = {
    // A share of the sampled float16 gradients: those of operators whose results are all subnormal or zero.
    {"share", 0.5, "where less of the gradients is that small, most of the model learns"},
    // ReLU makes half of its gradients 0, but leaves the others as large as they are, so it is not among those
    // operators.
    {"zeros", 0.1, "with fewer zeros among those, float16 still holds them"},
    // One or two steps are a trial, a benchmark or a test.
    {"unmeasured_steps", 3, "where gradients were not sampled: with fewer optimizer steps it is not training"},
};
std::string fix_for(const std::optional<AmpHandle>& handle) {
  const std::string how =
      handle ? "with " + scaled_loss(*handle) + " as scaled_loss: scaled_loss.backward(); then optimizer.step()."
             : "scaler = torch.amp.GradScaler(device); scaler.scale(loss).backward(); scaler.step(optimizer); "
               "scaler.update().";
  return "Scale the loss: " + how + " Or use bfloat16, which has the range of float32.";
}

struct Gradients {
  store::StackId stack = {};  // the call of backward
  std::optional<AmpHandle> handle;
  std::uint64_t elements = 0, small = 0, zeros = 0;
  double most = 0;
  bool vanishing = false;  // some are small but not yet 0: zeros alone may come from the loss
};

// Returns the call of backward on whose stack these operators ran.
const store::Fact* backward_of(const store::RunData& data, store::ProcessId process, const store::OperatorUse& use) {
  return first_seen(data, process, [&](const store::Fact& fact) {
    if (fact.kind != lanes::FactKind::kBackward || fact.detail != 0) return false;
    return !data.user_location(use.stack) || line_of(data, fact.stack) == line_of(data, use.stack);
  });
}

bool is_small(const store::ValueRange& range) { return range.most < kSmallestNormal && range.not_finite == 0; }

void add_range(Gradients& to, const store::ValueRange& range) {
  to.elements += range.elements;
  to.most = std::max(to.most, range.most);
  if (!is_small(range)) return;
  to.small += range.elements;
  to.zeros += range.zeros;
  to.vanishing |= range.most > 0;
}

// Returns whether gradients were small before they were cast to float16, as those of a loss in float32 are.
bool small_ones_are_cast(const store::RunData& data, store::ProcessId process) {
  for (const store::ValueRange& range : data.value_ranges) {
    if (range.process != process || range.site == 0 || range.most <= 0 || !is_small(range)) continue;
    const store::Site& site = data.sites[range.site];
    if (site.phase == lanes::Phase::kBackward && site.to == kHalf) return true;
  }
  return false;
}

void judge_process(Inquiry& inquiry, store::ProcessId process, std::map<Line, Gradients>& places) {
  const store::RunData& data = inquiry.data;
  if (scales_gradients(data, process) || !region_dtypes(data, process).contains(kHalf)) return;
  if (times_seen(data, process, of_kind(lanes::FactKind::kOptimizerStep)) == 0) return;
  const store::Fact* any = first_seen(data, process, [](const store::Fact& fact) {
    return fact.kind == lanes::FactKind::kBackward && fact.detail == 0;
  });
  if (any == nullptr) return;
  const bool cast = small_ones_are_cast(data, process);
  for (const store::ValueRange& range : data.value_ranges) {
    if (range.process != process || range.use == 0) continue;
    const store::OperatorUse& use = data.operator_uses[range.use];
    if (use.phase != lanes::Phase::kBackward || use.result != kHalf) continue;
    const store::Fact* backward = backward_of(data, process, use);
    const store::StackId stack = (backward == nullptr ? any : backward)->stack;
    Gradients& gradients = places[line_of(data, stack)];
    if (gradients.stack == 0) gradients.stack = stack, gradients.handle = amp_handle_in(data, process);
    gradients.vanishing |= cast;
    add_range(gradients, range);
  }
}

bool vanish(const Inquiry& inquiry, const Gradients& g) {
  const double small = static_cast<double>(g.small), zeros = static_cast<double>(g.zeros);
  if (!g.vanishing || small < inquiry.threshold("share") * static_cast<double>(g.elements)) return false;
  return zeros >= inquiry.threshold("zeros") * small;
}

void add_measured_finding(Inquiry& inquiry, const Gradients& g) {
  Finding& finding = inquiry.add(g.stack);
  const auto percent =
      static_cast<std::uint64_t>(100.0 * static_cast<double>(g.zeros) / static_cast<double>(g.elements));
  finding.title = std::to_string(percent) +
                  " % of the float16 gradients are 0: nothing scales the loss, and they "
                  "are smaller than float16 can hold";
  finding.evidence_number = {{"sampled_elements", g.elements}, {"too_small_elements", g.small}, {"zeros", g.zeros}};
  finding.evidence_text = {{"largest", readable_number(g.most)}};
  finding.deep_only = true;
  finding.fix = fix_for(g.handle);
}

void add_unmeasured_finding(Inquiry& inquiry, const UnmeasuredGradients& g) {
  Finding& finding = inquiry.add(g.stack);
  finding.title =
      "the model is trained in float16 and nothing scales the loss; how many gradients vanish was not measured";
  finding.evidence_number = {
      {"backward_calls", g.backwards}, {"optimizer_steps", g.steps}, {"gradient_casts", g.casts}};
  finding.fix = fix_for(g.handle);
}

// Processes that run the same code, the ranks of a job, share one finding.
void judge_missing_scalers(Inquiry& inquiry) {
  const auto least_steps = static_cast<std::uint64_t>(inquiry.threshold("unmeasured_steps"));
  std::map<Line, Gradients> places;
  std::map<Line, UnmeasuredGradients> unmeasured;
  for (const store::Process& process : inquiry.data.processes) {
    judge_process(inquiry, process.id, places);
    const auto found = unmeasured_gradients(inquiry.data, process.id, least_steps);
    if (!found) continue;
    UnmeasuredGradients& all = unmeasured[line_of(inquiry.data, found->stack)];
    if (all.stack == 0) all.stack = found->stack, all.handle = found->handle;
    all.backwards += found->backwards;
    all.steps += found->steps;
    all.casts += found->casts;
  }
  for (const auto& [line, g] : places)
    if (vanish(inquiry, g)) add_measured_finding(inquiry, g);
  for (const auto& [line, g] : unmeasured)
    if (!places.contains(line)) add_unmeasured_finding(inquiry, g);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "scaler-missing",
    .severity = "warning",
    .harm = Harm::kResults,
    .summary = "float16 gradients vanish, or may vanish unseen, because the loss is not scaled",
    .thresholds = kThresholds,
    .sees = kOperators | kEvents,
    .explanation = {.what = "A model is trained in a float16 region without gradient scaling. Where gradients were "
                            "sampled, they are so small that float16 makes zeros of them. On a GPU, and without deep "
                            "steps, none is sampled: then the finding says that it was not measured. It is not given "
                            "where the loss is a product, which may be scaled by hand, or where float16 weights are "
                            "trained.",
                    .why = "float16 holds nothing below 6e-8, and little below 6e-5. Weights whose gradients are 0 do "
                           "not learn, and nothing says so.",
                    .example = R"(import torch

layer = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for step in range(3):
    with torch.autocast("cpu", dtype=torch.float16):
        loss = layer(torch.randn(4, 64)).float().pow(2).mean() * 1e-6
    loss.backward()
    print(layer.weight.grad.abs().max())  # 0
    optimizer.step()
    optimizer.zero_grad())",
                    .fix = "`torch.amp.GradScaler`, or bfloat16.",
                    .fixed_example = R"(import torch

layer = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
for step in range(3):
    with torch.autocast("cpu", dtype=torch.float16):
        loss = layer(torch.randn(4, 64)).float().pow(2).mean() * 1e-6
    scaler.scale(loss).backward()
    print(layer.weight.grad.abs().max())
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad())",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling"},
    .judge = judge_missing_scalers,
};

}  // namespace castscope::rules::scaler_missing
