// checkpoint-recompute-differs: code that forward ran under autocast is run again during backward, with a graph (a
// hand-written checkpoint), and computes in another dtype there, because the region was not entered again. The
// gradients then belong to other values than those of forward.
//
// Not a finding: torch.utils.checkpoint, which restores autocast, and a line that runs in both dtypes in forward just
// as often.
#include <map>
#include <set>

#include "absl/strings/str_join.h"
#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/code_places.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::checkpoint_recompute_differs {
namespace {

using lanes::Phase;
using store::OperatorUse;

struct SpotUses {
  std::map<std::uint8_t, std::uint64_t> forward;  // how often in each dtype
  std::set<std::uint8_t> cast_down;               // in forward, by autocast
  store::StackId forward_stack = {};
  std::map<std::uint8_t, std::uint64_t> again;  // in backward
  std::map<std::uint8_t, const OperatorUse*> first_again;
};

std::map<Spot, SpotUses> spots_of(const store::RunData& data, const ProcessUses& uses) {
  std::map<Spot, SpotUses> spots;
  for (const auto& [counted, times] : uses) {
    const OperatorUse& use = *counted;
    SpotUses& spot = spots[spot_of(data, use)];
    if (use.phase != Phase::kBackward) {
      spot.forward[use.computed] += times;
      if (!is_cast_down(data, use)) continue;
      if (spot.cast_down.empty()) spot.forward_stack = use.stack;
      spot.cast_down.insert(use.computed);
    } else if (use.is(lanes::kUseGradMode) && !called_by_engine(data, use)) {
      spot.again[use.computed] += times;
      spot.first_again.try_emplace(use.computed, &use);
    }
  }
  return spots;
}

// The recomputation of one hand-written checkpoint, or of the function that is run again.
struct Recompute {
  const OperatorUse* first = nullptr;
  store::StackId forward_stack = {};
  std::uint8_t was = 0;
  std::uint64_t times = 0;
  std::set<std::string> operators;
};

std::pair<std::string, std::string> owner_of(const store::RunData& data, const OperatorUse& use) {
  const FunctionMethod method = function_method(data, use.stack);
  if (!method.owner.empty()) return {method.file, method.owner};
  const store::CodeLocation at = data.user_location(use.stack).value_or(store::CodeLocation());
  return {at.file, at.function};
}

void add_finding(Inquiry& inquiry, const Recompute& found) {
  const store::RunData& data = inquiry.data;
  const std::string was(store::dtype_name(found.was)), is(store::dtype_name(found.first->computed));
  const std::string name = short_name(found.first->op);
  Finding& finding = inquiry.add(found.first->stack);
  finding.title = "recomputed during backward, " + name + " computes in " + is + "; in forward it computed in " + was;
  finding.deep_only = true;
  finding.evidence_number = {{"operators_in_another_dtype", found.times}};
  finding.evidence_text = {
      {"forward_computed_in", was}, {"recomputed_in", is}, {"operator_names", absl::StrJoin(found.operators, ", ")}};
  add_related(finding, data, found.forward_stack);
  finding.fix = in_autocast(data, *found.first)
                    ? "Bring the autocast state of forward back around the recomputation, also where it was off "
                      "(torch.autocast(…, enabled=False)), or use torch.utils.checkpoint.checkpoint, which does."
                    : "Enter an autocast region with forward's dtype around the recomputation, or use "
                      "torch.utils.checkpoint.checkpoint(function, *args, use_reentrant=False), which does. The "
                      "gradients are then computed in that dtype.";
}

// Returns the recomputations of one process, by owner_of.
std::map<std::pair<std::string, std::string>, Recompute> recomputes_of(const store::RunData& data,
                                                                       const ProcessUses& process) {
  std::map<std::pair<std::string, std::string>, Recompute> by_owner;
  for (const auto& [spot, uses] : spots_of(data, process)) {
    for (const auto& [dtype, first] : uses.first_again) {
      const std::uint64_t times = uses.again.at(dtype);
      const auto same = uses.forward.find(dtype);
      if (same != uses.forward.end() && times <= same->second) continue;
      const bool lost = dtype == kFloat && !uses.cast_down.empty() && !in_autocast(data, *first);
      const bool gained = is_cast_down(data, *first) && !uses.forward.empty() && !uses.cast_down.contains(dtype);
      if (!lost && !gained) continue;
      Recompute& found = by_owner[owner_of(data, *first)];
      found.times += times;
      found.operators.insert(short_name(first->op));
      if (found.first != nullptr && found.first->id < first->id) continue;
      found.first = first;
      found.forward_stack = uses.forward_stack;
      found.was = uses.cast_down.empty() ? uses.forward.begin()->first : *uses.cast_down.begin();
    }
  }
  return by_owner;
}

void judge_recompute(Inquiry& inquiry) {
  std::map<Line, Recompute> by_place;
  for (const ProcessUses& process : uses_by_process(inquiry.data)) {
    for (auto& [owner, found] : recomputes_of(inquiry.data, process)) {
      const auto [at, fresh] = by_place.try_emplace(line_of(inquiry.data, found.first->stack), found);
      if (fresh) continue;
      at->second.times += found.times;
      at->second.operators.merge(found.operators);
    }
  }
  for (const auto& [place, found] : by_place) add_finding(inquiry, found);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "checkpoint-recompute-differs",
    .severity = "error",
    .harm = Harm::kPrecision,
    .summary = "what a checkpoint recomputes during backward has another dtype than in forward",
    .thresholds = {},
    .sees = kOperators,
    .explanation =
        {.what = "The same code ran in forward under autocast, and again during backward, to save memory, in another "
                 "dtype: autocast was not in the state that it had been in during forward.",
         .why = "Backward runs after the region. A recomputation that does not enter it again computes other values "
                "than forward did, so gradients belong to a function that was never evaluated; in float32 it also "
                "takes the memory and time that autocast was to save.",
         .example = R"(import torch

class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, x):
        ctx.run = run
        ctx.save_for_backward(x)
        with torch.no_grad():
            return run(x)

    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.run(x)
        torch.autograd.backward(y, grad.to(y.dtype))
        return None, x.grad

layer = torch.nn.Linear(8, 8)
x = torch.randn(4, 8, requires_grad=True)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = Checkpoint.apply(layer, x)
y.sum().backward())",
         .fix = "`torch.utils.checkpoint.checkpoint` keeps and restores the autocast state. In a checkpoint of your "
                "own, record in forward whether autocast is on and in which dtype, and enter `torch.autocast` with "
                "that state around the recomputation. The gradients are then computed in forward's dtype.",
         .fixed_example = R"(import torch

class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, x):
        ctx.run = run
        ctx.save_for_backward(x)
        with torch.no_grad():
            return run(x)

    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            y = ctx.run(x)
        torch.autograd.backward(y, grad.to(y.dtype))
        return None, x.grad

layer = torch.nn.Linear(8, 8)
x = torch.randn(4, 8, requires_grad=True)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = Checkpoint.apply(layer, x)
y.sum().backward())",
         .links = "https://docs.pytorch.org/docs/stable/checkpoint.html"},
    .judge = judge_recompute,
};

}  // namespace castscope::rules::checkpoint_recompute_differs
